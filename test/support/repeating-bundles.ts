/** Bundles of definitions, 83 of the 187 MB of examples: no element is in them that is not in other examples, too. */
export const REPEATING: ReadonlySet<string> = new Set(
  ['resources', 'dataelements', 'valuesets', 'v2-valuesets', 'v3-valuesets', 'profiles-others'].map(
    (id) => `Bundle-${id}.json`,
  ),
)

/** True of those that tests leave to `ALL_EXAMPLES=1`. */
export const isRepeating = (name: string): boolean => process.env.ALL_EXAMPLES === undefined && REPEATING.has(name)
