/**
 * The parameters that page links repeat: the criteria in effect, and `_count` as it is applied. `shown`: the
 * parameters for the display of matches.
 */
import type { SearchRequest } from './search-parameters.ts'

export const selfLinkParameters = (
  request: SearchRequest,
  shown: readonly (readonly [string, string])[],
  count: number,
): URLSearchParams => {
  const { types, contained, containedType, sort, total, includes, revincludes, explain } = request
  const found = new URLSearchParams(request.criteria.map(([name, value]): [string, string] => [name, value]))
  const add = (name: string, value: string | undefined): void => {
    if (value !== undefined) found.append(name, value)
  }
  add('_type', types?.join(','))
  add('_contained', contained === 'false' ? undefined : contained)
  add('_containedType', contained === 'false' || containedType === 'container' ? undefined : containedType)
  for (const { text } of [...includes, ...revincludes])
    add(text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1))
  add('_sort', sort)
  add('_total', total)
  for (const [name, value] of shown) add(name, value)
  add('_explain', explain ? 'true' : undefined)
  add('_count', String(count))
  return found
}
