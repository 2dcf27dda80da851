/** Makes a regular expression from a value set, if its running time on any code is bounded. */

const MAX_CHARS = 200
const MAX_OPEN = 2 // `*`, `+` and `{1,}`; with more, matching takes too long

/**
 * Undefined for an invalid pattern, and for one that could run too long: with repeated groups that repeat inside, or
 * with back-references.
 */
export const toPattern = (text: string): RegExp | undefined => {
  if (text.length > MAX_CHARS) return undefined
  // An escaped character or a class counts as one character.
  const bare = text
    .replace(/\\[1-9k]/g, '\u0000')
    .replace(/\\./g, 'x')
    .replace(/\[[^\]]*\]/g, 'x')
  if (bare.includes('\u0000') || /\(\?[=!<]/.test(bare)) return undefined
  if ((bare.match(/[*+]|\{\d+,\}/g) ?? []).length > MAX_OPEN) return undefined
  // Replaces groups, beginning with the innermost.
  for (let rest = bare; rest.includes('('); ) {
    const inner = /\((?:\?:)?([^()]*)\)([*+]|\{\d+,\d*\})?/.exec(rest)
    if (inner === null) return undefined
    if (inner[2] !== undefined && /[*+?{|]/.test(inner[1] as string)) return undefined
    rest =
      rest.slice(0, inner.index) +
      (/[*+?{|]/.test(inner[1] as string) ? 'x?' : 'x') +
      rest.slice(inner.index + inner[0].length)
  }
  try {
    return new RegExp(`^(?:${text})$`, 'u')
  } catch {
    return undefined
  }
}
