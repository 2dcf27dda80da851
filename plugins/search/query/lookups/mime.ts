/**
 * `:below` on MIME types: `image` matches all types that begin with `image/`.
 * https://hl7.org/fhir/R4/search.html#token
 */

import { OF_TYPE } from '../../definition/column-codes.ts'
import { isMimeTypes } from '../../definition/mime-value-set.ts'
import type { ParameterColumn } from '../../definition/parameter.ts'
import { SearchEmpty } from '../../errors.ts'
import { mimeParts } from '../../index/convert/mime-parts.ts'
import { TOKEN_COLUMNS } from '../../index/index-entries.ts'
import { and, isIn, q } from '../../sql/fragment.ts'
import { unescapeValue } from '../escape.ts'
import { type IndexLookup, someRow } from '../index-lookup.ts'
import { codesOf, type ValueContext } from '../value-context.ts'

/** Those columns of a parameter whose codes are MIME types. */
export const mimeColumns = (columns: readonly ParameterColumn[]): readonly ParameterColumn[] =>
  columns.filter(({ implied = [] }) => implied.some(isMimeTypes))

export const mimeLookups = ({ name, columns, hasher }: ValueContext, values: readonly string[]): IndexLookup[] => {
  const codes = codesOf(mimeColumns(columns), OF_TYPE)
  const hashes = values.map((value) => {
    const wanted = mimeParts(unescapeValue(value).replace(/\/\*?$/, '')).at(-1)
    if (wanted === undefined || wanted === '') throw SearchEmpty(name)
    return hasher.long(wanted)
  })
  return [
    {
      table: 'ix_token',
      where: and([isIn('x.param', codes), isIn('x.val', hashes), q`x.sys = 0`]),
      isOrdered: codes.length === 1 && hashes.length === 1,
      probeable: true,
      matches: ({ token }) =>
        someRow(
          token,
          TOKEN_COLUMNS,
          (at) => codes.includes(token[at] as number) && hashes.includes(token[at + 1] as number),
        ),
    },
  ]
}
