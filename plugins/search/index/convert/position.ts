/**
 * Converts positions on Earth to one row each, with latitude and longitude, under the key of their whole degrees.
 * https://hl7.org/fhir/R4/location.html#search
 */
import { decimalText } from '../../../model/service.ts'
import type { Json } from '../../definition/kind.ts'
import type { Convert } from './convert.ts'

/** Undefined when the value is not a number between -`most` and `most`. A double is precise enough for any position. */
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
