/**
 * Puts the server's id and meta into the client's text; everything else stays as it was sent, so that 1.00 stays 1.00.
 */
import { NotAnObject } from '../errors.ts'
import type { ReadResource } from './parse.ts'
import { type Member, scan } from './scan.ts'

/** A resource that waits for its id, version and time. */
export interface Template {
  /** The exact text to store for these values. */
  fill(id: string, version: number, lastUpdated: string): string
  /** The parts that do not depend on the values; one value stands between each two of them. */
  readonly fixed: readonly string[]
  /** What stands between the fixed parts. */
  values(id: string, version: number, lastUpdated: string): readonly string[]
}

interface Slot {
  readonly start: number
  readonly end: number
  readonly make: (id: string, version: number, lastUpdated: string) => string
}

const SERVER_OWNED = new Set(['versionId', 'lastUpdated', '_versionId', '_lastUpdated'])

/** The client's own members of meta as text with a leading comma each: profile, tag, security, source, extension. */
const keptMeta = (text: string, meta: Member | undefined): string => {
  if (meta === undefined) return ''
  if (text[meta.valueStart] !== '{') throw NotAnObject()
  const inner = text.slice(meta.valueStart, meta.valueEnd)
  return scan(inner, 100)
    .members.filter(({ key }) => !SERVER_OWNED.has(key))
    .map(({ keyStart, valueEnd }) => `,${inner.slice(keyStart, valueEnd)}`)
    .join('')
}

export const toTemplate = ({ text, members }: Pick<ReadResource, 'text' | 'members'>): Template => {
  const find = (key: string): Member | undefined => members.find((member) => member.key === key)
  const id = find('id')
  const meta = find('meta')
  const kept = keptMeta(text, meta)
  const makeId = (value: string): string => JSON.stringify(value)
  const makeMeta = (_id: string, version: number, lastUpdated: string): string =>
    `{"versionId":"${version}","lastUpdated":"${lastUpdated}"${kept}}`

  // A member that is missing goes behind resourceType, where readers of JSON look for it.
  const behind = find('resourceType')?.valueEnd ?? text.indexOf('{') + 1
  const slots: Slot[] = []
  if (id !== undefined) slots.push({ start: id.valueStart, end: id.valueEnd, make: makeId })
  if (meta !== undefined) slots.push({ start: meta.valueStart, end: meta.valueEnd, make: makeMeta })
  if (id === undefined || meta === undefined)
    slots.push({
      start: behind,
      end: behind,
      make: (value, version, lastUpdated) =>
        (id === undefined ? `,"id":${makeId(value)}` : '') +
        (meta === undefined ? `,"meta":${makeMeta(value, version, lastUpdated)}` : ''),
    })
  slots.sort((one, other) => one.start - other.start)

  const fixed: string[] = []
  let at = 0
  for (const { start, end } of slots) {
    fixed.push(text.slice(at, start))
    at = end
  }
  fixed.push(text.slice(at))
  return {
    fixed,
    values: (value, version, lastUpdated) => slots.map(({ make }) => make(value, version, lastUpdated)),
    fill(value, version, lastUpdated) {
      let out = ''
      for (let n = 0; n < slots.length; n += 1) out += fixed[n] + (slots[n] as Slot).make(value, version, lastUpdated)
      return out + fixed[slots.length]
    },
  }
}
