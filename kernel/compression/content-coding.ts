/** Chooses the coding of an answer by Accept-Encoding. RFC 9110, section 12.5.3; zstd: RFC 8878. */

export type ContentCoding = 'zstd' | 'gzip'

const WEIGHT = /^\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*$/i
const NAMES: Readonly<Record<string, string>> = { 'x-gzip': 'gzip' }

/** A weight that is malformed counts as 0, so that the coding is not used. */
const weightOf = (parameter: string | undefined): number => {
  if (parameter === undefined) return 1
  const found = WEIGHT.exec(parameter)?.[1]
  return found === undefined ? 0 : Number(found)
}

const weightsIn = (header: string): ReadonlyMap<string, number> => {
  const weights = new Map<string, number>()
  for (const part of header.split(',')) {
    const [given = '', parameter] = part.split(';')
    const name = given.trim().toLowerCase()
    if (name !== '') weights.set(NAMES[name] ?? name, weightOf(parameter))
  }
  return weights
}

/**
 * The coding with the greatest weight, at equal weights the first of `offered`; undefined where the client accepts none
 * of them or prefers an answer without coding.
 */
export const chooseCoding = (
  header: string | readonly string[] | undefined,
  offered: readonly ContentCoding[],
): ContentCoding | undefined => {
  if (header === undefined) return undefined
  const weights = weightsIn(typeof header === 'string' ? header : header.join(','))
  const others = weights.get('*') ?? 0
  let best: ContentCoding | undefined
  let most = weights.get('identity') ?? 0
  for (const coding of offered) {
    const weight = weights.get(coding) ?? others
    if (weight > 0 && (best === undefined ? weight >= most : weight > most)) {
      best = coding
      most = weight
    }
  }
  return best
}
