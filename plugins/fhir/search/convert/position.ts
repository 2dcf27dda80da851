/** Places on Earth → latitude and longitude in one row, under the degrees they lie in. https://hl7.org/fhir/R4/location.html#search */
import type { Convert, Json } from './kind.ts'

const isDegrees = (value: unknown, most: number): value is number =>
  typeof value === 'number' && value >= -most && value <= most

export const createPositionConverters = (): Readonly<Record<string, Convert>> => {
  const position: Convert = (rows, column, { latitude, longitude }: Json) => {
    if (!isDegrees(latitude, 90) || !isDegrees(longitude, 180)) return
    const [row, place] = [Math.floor(latitude), Math.floor(longitude)]
    rows.composite.push(column, row, place, latitude, latitude, 0, 0, longitude, longitude, '')
  }
  return { 'Location.position': position }
}
