/** `_id` and `_lastUpdated`: parameters of every type that have no column. https://hl7.org/fhir/R4/search.html#all */

import { SearchModifierUnknown } from '../errors.ts'
import { Fragment, or, q, raw } from '../sql/fragment.ts'
import { idClause, type SearchClause, updatedClause } from './clause.ts'
import { unescapeValue } from './escape.ts'
import { dateBounds, readDateValue } from './lookups/ordered.ts'
import { type Name, short } from './parameter-name.ts'
import { valuesOf } from './values.ts'

/** A condition on `upd` without a calculation, so that the index on `upd` can be used. */
const indexable = (prefix: string, { lo, hi }: { lo: number; hi: number }): Fragment => {
  if (prefix === 'eq') return q`x.upd >= ${lo * 1000} AND x.upd < ${hi * 1000} AND `
  if (prefix === 'gt' || prefix === 'sa' || prefix === 'ge') return q`x.upd >= ${lo * 1000} AND `
  if (prefix === 'lt' || prefix === 'le' || prefix === 'eb') return q`x.upd < ${hi * 1000} AND `
  return raw('')
}

/** `codeOf` returns the code of a type, `hash` the hash of an id. */
export const createGeneralCriteria =
  (codeOf: (type: string) => number, hash: (id: string) => number) =>
  async (type: string, name: string, { code, modifier }: Name, value: string, now: number): Promise<SearchClause> => {
    if (modifier !== undefined) throw SearchModifierUnknown(short(modifier), 'general', code, 'none')
    const named = { text: `${name}=${value}`, description: `${code} ${value}` }
    const values = valuesOf(name, value)
    if (code === '_id') return idClause(named, codeOf(type), values.map(unescapeValue), hash)
    // `_lastUpdated`: `upd` is in microseconds, ranges are in milliseconds.
    const parts = values.map((one) => {
      const { prefix, range } = readDateValue(name, unescapeValue(one))
      const { any, test } = dateBounds(prefix, range, now)
      const text = any.text.replaceAll('x.lo', '(x.upd / 1000)').replaceAll('x.hi', '(x.upd / 1000 + 1)')
      return { where: q`${indexable(prefix, range)}${new Fragment(text, any.params)}`, test }
    })
    return updatedClause(named, codeOf(type), or(parts.map(({ where }) => where)), (stamp) =>
      parts.some(({ test }) => test(Math.floor(stamp / 1000), Math.floor(stamp / 1000) + 1)),
    )
  }
