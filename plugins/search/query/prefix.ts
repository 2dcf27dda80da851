/** Prefixes of ordered values. https://hl7.org/fhir/R4/search.html#prefix */

export const PREFIXES = ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap'] as const
export type Prefix = (typeof PREFIXES)[number]

const KNOWN = new Set<string>(PREFIXES)

export const splitPrefix = (text: string): { readonly prefix: Prefix; readonly rest: string } => {
  const start = text.slice(0, 2)
  return KNOWN.has(start) ? { prefix: start as Prefix, rest: text.slice(2) } : { prefix: 'eq', rest: text }
}
