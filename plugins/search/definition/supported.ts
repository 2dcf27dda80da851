/**
 * Tables of the supported search parameters, modifiers and prefixes. The code that parses searches and the
 * documentation both use them.
 */

/** Parameters of the specification that this server does not support, with the reason. */
export const UNSUPPORTED: Readonly<Record<string, string>> = {
  _query: 'there are no named queries',
}
/** Parameters of every type that have no column. */
export const COMMON_PARAMETERS = ['_id', '_lastUpdated', '_has', '_list', '_text', '_content', '_filter'] as const

/** Types of parameters whose values may begin with a prefix. */
export const PREFIXED: readonly string[] = ['date', 'number', 'quantity']

/** What `_sort` compares, by type of parameter. Types that are missing cannot be sorted by. */
export const SORTED_BY: Readonly<Record<string, string>> = {
  token: 'code, then text',
  string: 'text without case and accents',
  reference: 'type and id',
  uri: 'text',
  date: 'beginning',
  number: 'value',
  quantity: 'value, whatever the unit',
}

/** Modifiers by type of parameter. */
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
