/** Parses the query of an address into `name=value` pairs, if it is simple enough for the fast search. */

const LONGEST = 2_000
/** Matches text that is encoded as URLSearchParams encodes it, so that links can repeat it unchanged. */
const CANONICAL = /^(?:[\w*.+-]|%(?:2[1-9BCF]|3[A-F]|40|5[B-E]|60|7[B-E]))*$/
const ASCII = /^[\x21-\x7e]*$/

export interface SimpleQuery {
  /** The names in order, which searches of one shape have in common: `patient&code&`. */
  readonly names: string
  readonly values: readonly string[]
  /** All pairs but `_count`, as a link repeats them. */
  readonly text: string
  readonly count: number | undefined
}

const decode = (text: string): string =>
  text.includes('%') || text.includes('+') ? decodeURIComponent(text.replaceAll('+', ' ')) : text

/** Undefined for a query that only the general search handles. */
export const parseSimpleQuery = (query: string): SimpleQuery | undefined => {
  if (query.length > LONGEST || !ASCII.test(query)) return undefined
  let names = ''
  let text = ''
  let count: number | undefined
  const values: string[] = []
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=')
    if (equals < 1) return undefined
    const name = pair.slice(0, equals)
    const given = pair.slice(equals + 1)
    if (name === '_count') {
      if (count !== undefined || !/^[1-9]\d{0,8}$/.test(given)) return undefined
      count = Number(given)
      continue
    }
    let value: string
    try {
      value = decode(given)
    } catch {
      return undefined
    }
    if (value === '' || value.includes('\0')) return undefined
    names += `${name}&`
    values.push(value)
    const spelled = CANONICAL.test(given) ? `${name}=${given}` : new URLSearchParams([[name, value]]).toString()
    text += text === '' ? spelled : `&${spelled}`
  }
  return values.length === 0 ? undefined : { names, values, text, count }
}
