/** Finds the newest Observation that answers an item. https://hl7.org/fhir/uv/sdc/populate.html#observation-based-population */
import type { ExpressionResolver } from '../expressions/expression-resolver.ts'
import { extensionValue, URLS } from '../questionnaire/extensions.ts'
import type { Item } from '../questionnaire/items.ts'
import { isObject, type Json, objectsIn } from '../questionnaire/json.ts'

/** Statuses of Observations whose value can be used. */
const STATUSES = 'final,amended,corrected'

const MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  wk: 7 * 86_400_000,
}
const UNITS: Readonly<Record<string, string>> = {
  ...{ year: 'a', years: 'a', month: 'mo', months: 'mo', week: 'wk', weeks: 'wk', day: 'd', days: 'd' },
  ...{ hour: 'h', hours: 'h', minute: 'min', minutes: 'min', second: 's', seconds: 's' },
}

/** The time before `now`; undefined for a Duration that cannot be read. */
export const timeBefore = (now: string, duration: Json): string | undefined => {
  const amount = typeof duration.value === 'number' ? duration.value : Number.NaN
  const given = String(duration.code ?? duration.unit)
  const unit = UNITS[given] ?? given
  const date = new Date(now)
  if (unit === 'a' || unit === 'mo')
    date.setUTCMonth(date.getUTCMonth() - Math.round(unit === 'a' ? 12 * amount : amount))
  else date.setTime(date.getTime() - amount * (MS[unit] ?? Number.NaN))
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

const escaped = (text: unknown): string => encodeURIComponent(String(text).replace(/[\\,$|]/g, '\\$&'))

export interface ObservationSearch {
  readonly resolver: Pick<ExpressionResolver, 'query'>
  /** `Patient/1` */
  readonly subject: string
  /** ISO 8601 */
  readonly now: string
}

/** The newest Observation with a code of the item within its period. */
export const findObservation = async (
  item: Item,
  { resolver, subject, now }: ObservationSearch,
): Promise<Json | undefined> => {
  const period = extensionValue(item, URLS.observationLinkPeriod)
  const since = isObject(period) ? timeBefore(now, period) : undefined
  if (since === undefined) return undefined
  const codes = objectsIn(item.code)
    .filter(({ code }) => typeof code === 'string')
    .map(({ system, code }) => (system === undefined ? escaped(code) : `${escaped(system)}%7C${escaped(code)}`))
  if (codes.length === 0) return undefined
  const query = `Observation?subject=${encodeURIComponent(subject)}&code=${codes.join(',')}&date=ge${since}&status=${STATUSES}&_sort=-date&_count=1`
  const found = await resolver.query(query, item.linkId)
  const [entry] = objectsIn(found?.entry)
  return isObject(entry?.resource) ? entry.resource : undefined
}
