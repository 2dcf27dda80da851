/** Places on Earth → latitude and longitude in one row, under the degrees they lie in. https://hl7.org/fhir/R4/location.html#search */
import { decimalText } from '../../../model/service.ts'
import type { Json } from '../../definition/kind.ts'
import type { Convert } from './convert.ts'

/** Undefined for what is no number of degrees. A double is finer than any place. */
const toDegrees = (value: unknown, most: number): number | undefined => {
  const degrees = Number(typeof value === 'number' ? value : decimalText(value))
  return degrees >= -most && degrees <= most ? degrees : undefined
}

export const createPositionConverters = (): Readonly<Record<string, Convert>> => {
  const position: Convert = (rows, column, value: Json) => {
    const [latitude, longitude] = [toDegrees(value.latitude, 90), toDegrees(value.longitude, 180)]
    if (latitude === undefined || longitude === undefined) return
    const [row, place] = [Math.floor(latitude), Math.floor(longitude)]
    rows.composite.push(column, row, place, latitude, latitude, 0, 0, longitude, longitude, '', '', '', '', '', null)
  }
  return { 'Location.position': position }
}
