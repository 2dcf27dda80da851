/**
 * Bundles of definitions, 83 of the 187 MB of examples: no element is in them that is not in other examples, too. Tests that
 * read every example leave them to `ALL_EXAMPLES=1`.
 */
const REPEATING = new Set(
  ['resources', 'dataelements', 'valuesets', 'v2-valuesets', 'v3-valuesets', 'profiles-others'].map(
    (id) => `Bundle-${id}.json`,
  ),
)

export const isRepeating = (name: string): boolean => process.env.ALL_EXAMPLES === undefined && REPEATING.has(name)
export const REPEATING_BUNDLES = process.env.ALL_EXAMPLES === undefined ? REPEATING.size : 0
