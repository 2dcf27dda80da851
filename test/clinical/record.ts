/** Clinical resources in memory, and what a question asks of one: read from the JSON, without any index. */

export type Resource = Record<string, any>

export const keyOf = ({ resourceType, id }: Resource): string => `${resourceType}/${id}`

/** Milliseconds a date or time covers: from, to (exclusive). Without a zone it is UTC. */
export const spanOf = (text: string): readonly [number, number] => {
  const [, year = '', month, day, time] = /^(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?:T(.*))?$/.exec(text) ?? []
  if (month === undefined) return [Date.UTC(Number(year), 0), Date.UTC(Number(year) + 1, 0)]
  if (day === undefined) return [Date.UTC(Number(year), Number(month) - 1), Date.UTC(Number(year), Number(month))]
  if (time === undefined) return [Date.parse(text), Date.parse(text) + 86_400_000]
  const start = Date.parse(text)
  return [start, start + (/\.\d/.test(time) ? 1 : /^\d\d:\d\d:/.test(time) ? 1_000 : 60_000)]
}

/** What a dateTime or Period of a resource covers; an open end lies beyond everything. */
export const covered = (value: string | { start?: string; end?: string }): readonly [number, number] =>
  typeof value === 'string'
    ? spanOf(value)
    : [
        value.start === undefined ? Number.NEGATIVE_INFINITY : spanOf(value.start)[0],
        value.end === undefined ? Number.POSITIVE_INFINITY : spanOf(value.end)[1],
      ]

/** `ge` and `lt` as R4 words them: above, or within; below. */
export const isFrom = ([low, high]: readonly [number, number], text: string): boolean => {
  const [from, to] = spanOf(text)
  return high > to || (low >= from && high <= to)
}
export const isBefore = ([low]: readonly [number, number], text: string): boolean => low < spanOf(text)[0]

/** A concept has this coding. */
export const hasCode = (concept: Resource | undefined, system: string, code: string): boolean =>
  (concept?.coding ?? []).some((one: Resource) => one.system === system && one.code === code)
