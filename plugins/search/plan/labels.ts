/** Resources that together have every profile, tag and security label of some types: for $meta. */

import { isIn, join, q } from '../sql/fragment.ts'
import type { SearchView } from './search-view.ts'

/** The search parameters that find labels. */
const CODES = ['_profile', '_tag', '_security'] as const

/** Returns the key of one resource for each label, at most `most` + 1 keys. */
export const findLabelled = async (
  { search: { registry, executor } }: Pick<SearchView, 'search'>,
  types: readonly string[],
  most: number,
  asking: { readonly signal: AbortSignal },
): Promise<readonly number[]> => {
  const codes = types.flatMap((type) =>
    CODES.flatMap((one) => registry.parameters(type).get(one)?.columns ?? []).map(({ code }) => code),
  )
  if (codes.length === 0) return []
  const params = isIn('x.param', [...new Set(codes)])
  const first = join(
    [
      q`SELECT min(x.rid) AS rid FROM ix_token x WHERE ${params} GROUP BY x.param, x.val, x.sys`,
      q`SELECT min(x.rid) AS rid FROM ix_str x WHERE ${params} GROUP BY x.param, x.val, x.exact`,
      q`SELECT min(x.rid) AS rid FROM ix_ref x WHERE ${params} GROUP BY x.param, x.target`,
    ],
    ' UNION ALL ',
  )
  const rows = await executor.select<{ rid: number }>(
    q`SELECT DISTINCT u.rid FROM (${first}) u LIMIT ${most + 1}`,
    asking,
  )
  return rows.map(({ rid }) => Number(rid))
}
