/** What a search understands: the code that reads parameters goes by these tables, and the documentation shows them. */

/** Parameters of the specification that this server refuses, and why. */
export const UNSUPPORTED: Readonly<Record<string, string>> = {
  _query: 'there are no named queries',
}
/** Parameters of every type that no SearchParameter's expression stands for. */
export const COMMON_PARAMETERS = ['_id', '_lastUpdated', '_has', '_list', '_text', '_content', '_filter'] as const

/** Types of parameters whose values may begin with a prefix. */
export const PREFIXED: readonly string[] = ['date', 'number', 'quantity']

/** What `_sort` goes by, by type of parameter; the others have no order. */
export const SORTED_BY: Readonly<Record<string, string>> = {
  token: 'code, then text',
  string: 'text without case and accents',
  reference: 'type and id',
  uri: 'text',
  date: 'beginning',
  number: 'value',
  quantity: 'value, whatever the unit',
}

/** Modifiers by type of parameter, as the code below understands them. */
export const MODIFIERS: Readonly<Record<string, readonly string[]>> = {
  token: ['missing', 'text', 'code-text', 'not', 'of-type', 'in', 'not-in', 'above', 'below'],
  string: ['missing', 'exact', 'contains'],
  reference: ['missing', 'identifier', 'above', 'below', '[type]'],
  uri: ['missing', 'above', 'below'],
  date: ['missing'],
  number: ['missing'],
  quantity: ['missing'],
  composite: ['missing'],
  special: ['missing'],
}
