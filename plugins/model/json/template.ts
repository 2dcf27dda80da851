/**
 * Puts the server's id and meta into the client's text. All other characters stay as they were sent, so 1.00 stays 1.00.
 */
import { NotAnObject } from '../errors.ts'
import type { ParsedResource } from './parse.ts'
import { type JsonMember, scan } from './scan.ts'

/** The text of a resource with gaps for its id, version and time. */
export interface ResourceTemplate {
  /** The exact text to store for these values. */
  fill(id: string, version: number, lastUpdated: string): string
  /** The text around the gaps: one part more than there are gaps. */
  readonly fixed: readonly string[]
  /** The text of each gap, to be put between the fixed parts. */
  values(id: string, version: number, lastUpdated: string): readonly string[]
}

/** A gap that the server fills: a half-open range of the text, in characters. */
interface Slot {
  readonly start: number
  readonly end: number
  readonly hasId: boolean
  readonly hasMeta: boolean
  /** True if the text has no such member, so that the key is inserted with the value. */
  readonly isInserted: boolean
}

/** Where id and meta go. Plain data, which can be sent between threads without the text. */
export interface Slots {
  readonly places: readonly Slot[]
  /** The client's own members of meta as text, each with a leading comma. */
  readonly kept: string
}

const SERVER_OWNED = new Set(['versionId', 'lastUpdated', '_versionId', '_lastUpdated'])

/** The client's own members of meta, such as profile and tag, as text, each with a leading comma. */
const keptMeta = (text: string, meta: JsonMember | undefined): string => {
  if (meta === undefined) return ''
  if (text[meta.valueStart] !== '{') throw NotAnObject()
  const inner = text.slice(meta.valueStart, meta.valueEnd)
  return scan(inner, 100)
    .members.filter(({ key }) => !SERVER_OWNED.has(key))
    .map(({ keyStart, valueEnd }) => `,${inner.slice(keyStart, valueEnd)}`)
    .join('')
}

/** Throws 400 if meta is not an object. */
export const slotsOf = ({ text, members }: Pick<ParsedResource, 'text' | 'members'>): Slots => {
  const find = (key: string): JsonMember | undefined => members.find((member) => member.key === key)
  const id = find('id')
  const meta = find('meta')
  const kept = keptMeta(text, meta)
  // A missing member is inserted after resourceType, where people expect it.
  const behind = find('resourceType')?.valueEnd ?? text.indexOf('{') + 1
  const places: Slot[] = []
  const add = (start: number, end: number, hasId: boolean, hasMeta: boolean, isInserted: boolean): void =>
    void places.push({ start, end, hasId, hasMeta, isInserted })
  if (id !== undefined) add(id.valueStart, id.valueEnd, true, false, false)
  if (meta !== undefined) add(meta.valueStart, meta.valueEnd, false, true, false)
  if (id === undefined || meta === undefined) add(behind, behind, id === undefined, meta === undefined, true)
  places.sort((one, other) => one.start - other.start)
  return { places, kept }
}

/** The text around the places: one part more than there are places. */
const splitAt = (whole: string, places: readonly Slot[]): readonly string[] => {
  const parts: string[] = []
  let at = 0
  for (const { start, end } of places) {
    parts.push(whole.slice(at, start))
    at = end
  }
  parts.push(whole.slice(at))
  return parts
}

class TextTemplate implements ResourceTemplate {
  readonly #slots: Slots
  readonly #text: () => string
  #fixed: readonly string[] | undefined

  constructor(slots: Slots, text: () => string) {
    this.#slots = slots
    this.#text = text
  }

  get fixed(): readonly string[] {
    this.#fixed ??= splitAt(this.#text(), this.#slots.places)
    return this.#fixed
  }

  values(id: string, version: number, lastUpdated: string): readonly string[] {
    return this.#slots.places.map((one) => this.#valueAt(one, id, version, lastUpdated))
  }

  fill(id: string, version: number, lastUpdated: string): string {
    const { places } = this.#slots
    const parts = this.fixed
    let out = ''
    for (let n = 0; n < places.length; n += 1)
      out += parts[n] + this.#valueAt(places[n] as Slot, id, version, lastUpdated)
    return out + parts[places.length]
  }

  #valueAt({ hasId, hasMeta, isInserted }: Slot, id: string, version: number, lastUpdated: string): string {
    const own = hasId ? `${isInserted ? ',"id":' : ''}${JSON.stringify(id)}` : ''
    if (!hasMeta) return own
    const before = isInserted ? ',"meta":' : ''
    return `${own}${before}{"versionId":"${version}","lastUpdated":"${lastUpdated}"${this.#slots.kept}}`
  }
}

/** `text` is called by `fixed` and `fill` only, since it may have to decode a large body. */
export const templateOf = (slots: Slots, text: () => string): ResourceTemplate => new TextTemplate(slots, text)

/** Throws 400 if meta is not an object. */
export const toResourceTemplate = (read: Pick<ParsedResource, 'text' | 'members'>): ResourceTemplate =>
  templateOf(slotsOf(read), () => read.text)
