/**
 * The range of milliseconds that a FHIR date, dateTime or instant covers.
 * https://hl7.org/fhir/R4/datatypes.html#dateTime
 */
const MOMENT =
  /^(\d{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01])(?:T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?(Z|[+-](?:0\d|1[0-4]):[0-5]\d)?)?)?)?$/

/** From `from`, inclusive, to `to`, exclusive. Without a zone it is UTC. Undefined when the text is not a date. */
export const readTimeRange = (text: string): { readonly from: number; readonly to: number } | undefined => {
  const found = MOMENT.exec(text)
  if (found === null) return undefined
  const [, year = '', month, day, hour, minute, second, fraction, zone = 'Z'] = found
  const at = (y: number, m: number, d: number): number => Date.UTC(y, m, d)
  const y = Number(year)
  if (month === undefined) return { from: at(y, 0, 1), to: at(y + 1, 0, 1) }
  const m = Number(month) - 1
  if (day === undefined) return { from: at(y, m, 1), to: at(y, m + 1, 1) }
  const d = Number(day)
  if (new Date(at(y, m, d)).getUTCDate() !== d) return undefined
  if (hour === undefined) return { from: at(y, m, d), to: at(y, m, d + 1) }
  const milliseconds = fraction === undefined ? undefined : fraction.padEnd(3, '0').slice(0, 3)
  const from = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second ?? '00'}.${milliseconds ?? '000'}${zone}`)
  const length =
    second === undefined
      ? 60_000
      : milliseconds === undefined
        ? 1_000
        : 10 ** Math.max(0, 3 - (fraction as string).length)
  return { from, to: from + length }
}
