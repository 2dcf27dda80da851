/**
 * `near`: `latitude|longitude|distance|unit`, compared by great-circle distance.
 * https://hl7.org/fhir/R4/location.html#search
 */
import { SearchValue } from '../../errors.ts'
import { COMPOSITE_COLUMNS } from '../../index/index-entries.ts'
import { and, type Fragment, isIn, q } from '../../sql/fragment.ts'
import { splitEscaped, unescapeValue } from '../escape.ts'
import { type IndexLookup, someRow } from '../index-lookup.ts'
import { codesOf, type ValueContext } from '../value-context.ts'

const EARTH_KM = 6371.0088 // mean radius, IUGG
const USUAL_KM = 50 // the distance when none is given, which R4 leaves to the server
const RADIANS = Math.PI / 180

/** Kilometres per unit: UCUM codes and common names. */
export const NEAR_UNITS: Readonly<Record<string, number>> = {
  km: 1,
  m: 0.001,
  cm: 0.00001,
  '[mi_i]': 1.609344,
  mi: 1.609344,
  mile: 1.609344,
  miles: 1.609344,
  '[mi_us]': 1609.347219 / 1000,
  '[nmi_i]': 1.852,
  '[ft_i]': 0.0003048,
  ft: 0.0003048,
  '[yd_i]': 0.0009144,
}

interface Circle {
  readonly latitude: number
  readonly longitude: number
  readonly km: number
}

const NUMBER = /^[+-]?\d{1,4}(\.\d{1,20})?$/
const DISTANCE = /^\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,2})?$/i

const readCircle = (name: string, text: string): Circle => {
  const parts = splitEscaped(text, '|').map(unescapeValue)
  const [latitude = '', longitude = '', distance = '', unit = ''] = parts
  if (parts.length < 2 || parts.length > 4 || !NUMBER.test(latitude) || !NUMBER.test(longitude))
    throw SearchValue(name, 'latitude|longitude|distance|unit in degrees, such as -83.69|42.25|11.2|km')
  if (Math.abs(Number(latitude)) > 90) throw SearchValue(name, 'a latitude from -90 to 90')
  if (Math.abs(Number(longitude)) > 180) throw SearchValue(name, 'a longitude from -180 to 180')
  if (distance !== '' && !DISTANCE.test(distance)) throw SearchValue(name, 'a distance of 0 or more')
  const km = unit === '' ? 1 : Object.hasOwn(NEAR_UNITS, unit) ? NEAR_UNITS[unit] : undefined
  if (km === undefined) throw SearchValue(name, `a distance in one of the units ${Object.keys(NEAR_UNITS).join(', ')}`)
  return {
    latitude: Number(latitude),
    longitude: Number(longitude),
    km: distance === '' ? USUAL_KM : Number(distance) * km,
  }
}

/** Haversine of the angle between two points. It grows with the distance and needs no square root. */
const haversine = ({ latitude, longitude }: Circle, lat: number, lon: number): number => {
  const down = Math.sin(((lat - latitude) * RADIANS) / 2)
  const across = Math.sin(((lon - longitude) * RADIANS) / 2)
  return down * down + Math.cos(latitude * RADIANS) * Math.cos(lat * RADIANS) * across * across
}

/** Degrees of longitude that a circle extends to either side; 180 when it contains a pole. */
const widthOf = ({ latitude }: Circle, angle: number): number => {
  if (Math.abs(latitude) * RADIANS + angle >= Math.PI / 2) return 180
  return Math.asin(Math.sin(angle) / Math.cos(latitude * RADIANS)) / RADIANS
}

const circleLookup = (codes: readonly number[], circle: Circle): IndexLookup => {
  const { latitude, longitude, km } = circle
  const angle = Math.min(km / EARTH_KM, Math.PI)
  // The small addition covers rounding: a point must be found at distance 0 from itself.
  const most = Math.sin(angle / 2) ** 2 + 1e-15
  const rows: Fragment[] = [
    q`x.val >= ${Math.floor(latitude - angle / RADIANS)}`,
    q`x.val <= ${Math.floor(latitude + angle / RADIANS)}`,
  ]
  const width = widthOf(circle, angle)
  const [west, east] = [Math.floor(longitude - width), Math.floor(longitude + width)]
  // A circle to or across the date line is not one range of longitudes, so this condition is omitted.
  if (west >= -180 && east < 180) rows.push(q`x.sys >= ${west} AND x.sys <= ${east}`)
  const down = q`sin((x.lo - ${latitude}) * ${RADIANS / 2})`
  const across = q`sin((x.lo2 - ${longitude}) * ${RADIANS / 2})`
  const distance = q`${down} * ${down} + ${Math.cos(latitude * RADIANS)} * cos(x.lo * ${RADIANS}) * ${across} * ${across}`
  return {
    table: 'ix_comp',
    where: and([isIn('x.param', codes), ...rows, q`${distance} <= ${most}`]),
    isOrdered: false,
    probeable: true,
    matches: ({ composite }) =>
      someRow(
        composite,
        COMPOSITE_COLUMNS,
        (at) =>
          codes.includes(composite[at] as number) &&
          haversine(circle, composite[at + 3] as number, composite[at + 7] as number) <= most,
      ),
  }
}

export const nearLookups = ({ name, columns }: ValueContext, values: readonly string[]): IndexLookup[] =>
  values.map((value) => circleLookup(codesOf(columns), readCircle(name, value)))
