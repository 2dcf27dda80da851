/** A regular expression from a value set, when it is sure to end soon on any code. */

const MAX_CHARS = 200
const MAX_OPEN = 2 // `*`, `+` and `{1,}`: more of them try too many ways

/** Undefined for what is no pattern, or could take forever: repeated groups that repeat inside, references back. */
export const toPattern = (text: string): RegExp | undefined => {
  if (text.length > MAX_CHARS) return undefined
  // What is escaped or in brackets is one character.
  const bare = text
    .replace(/\\[1-9k]/g, '\u0000')
    .replace(/\\./g, 'x')
    .replace(/\[[^\]]*\]/g, 'x')
  if (bare.includes('\u0000') || /\(\?[=!<]/.test(bare)) return undefined
  if ((bare.match(/[*+]|\{\d+,\}/g) ?? []).length > MAX_OPEN) return undefined
  // From the innermost group outwards.
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
