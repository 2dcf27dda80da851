/**
 * A part of hl7.fhir.r4.examples in which each element of each type is, in each shape that any example has it in: a string
 * with each escape, a whole number and a fraction, an array of one, of several and with gaps, a resource contained or in a
 * Bundle. Each extension is in it as well. Tests that read examples leave the others to `ALL_EXAMPLES=1`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPEATING } from './repeating-bundles.ts'
import { readRunFile, writeRunFile } from './run-file.ts'
import { examplesFolder } from './stub-definitions.ts'

/** The processes of one run share the names here: choosing them takes a second. */
const CHOSEN = 'chosen-examples.json'

/** An element that was seen: the shapes it had, and what was seen in it. */
interface Seen {
  readonly name: string
  shapes: number
  readonly members: Map<string, Seen>
}
const unseen = (name: string): Seen => ({ name, shapes: 0, members: new Map() })
/** The element of that name in another one. One that contains itself, as `concept` does, is one element. */
const memberOf = (element: Seen, name: string): Seen => {
  if (name === element.name) return element
  const known = element.members.get(name) ?? unseen(name)
  element.members.set(name, known)
  return known
}

/** One bit for each way in which a value can be written. */
const shapeOf = (value: unknown): number => {
  if (value === null) return 1
  if (Array.isArray(value)) return value.length > 1 ? 2 : 4
  if (typeof value === 'object') return 8
  if (typeof value === 'string') return 16
  if (typeof value === 'boolean') return 32
  return Number.isInteger(value) ? 64 : 128
}

const EXTENSION = /^(?:extension|modifierExtension)$/

/** Notes what the value has; true when some of it was not seen before. What a Bundle holds is as if it stood alone. */
const note = (value: unknown, element: Seen, root: Seen): boolean => {
  const before = element.shapes
  element.shapes |= shapeOf(value)
  let isNew = element.shapes !== before
  if (Array.isArray(value)) {
    for (const one of value) isNew = note(one, element, root) || isNew
    return isNew
  }
  if (typeof value !== 'object' || value === null) return isNew
  const { resourceType, url } = value as { resourceType?: unknown; url?: unknown }
  if (EXTENSION.test(element.name)) isNew = note(null, memberOf(root, String(url)), root) || isNew
  const from = element.name === 'resource' ? root : element
  const own = typeof resourceType === 'string' ? memberOf(from, resourceType) : element
  for (const [name, inner] of Object.entries(value)) isNew = note(inner, memberOf(own, name), root) || isNew
  return isNew
}

/** Escapes and characters beyond ASCII. */
const RARE = /\\u[0-9a-fA-F]{4}|\\.|[\u0080-\uffff]/g

const LARGE = 1_000_000 // characters
const weight = ({ name, text }: { name: string; text: string }): number =>
  text.length + (name.startsWith('Bundle-') ? 1e9 : 0)

/** Names of the files that are chosen, with the entries of a Bundle that are: null is all. */
type Chosen = Readonly<Record<string, readonly number[] | null>>

const choose = (): Chosen => {
  const texts = readdirSync(examplesFolder)
    .filter((name) => /^[A-Z].*\.json$/.test(name) && !REPEATING.has(name))
    .map((name) => ({ name, text: readFileSync(join(examplesFolder, name), 'utf8') }))
    // The small ones first, and Bundles last: these are chosen for what none of those has.
    .sort((one, other) => weight(one) - weight(other))
  const root = unseen('')
  const rare = new Set<string>()
  const made: Record<string, readonly number[] | null> = {}
  for (const { name, text } of texts) {
    const before = rare.size
    for (const [found] of text.matchAll(RARE)) rare.add(found)
    const resource = JSON.parse(text)
    if (resource.resourceType === 'Bundle' && text.length > LARGE) {
      const entries = resource.entry.flatMap((entry: object, at: number) =>
        note({ entry: [entry] }, memberOf(root, 'Bundle'), root) ? [at] : [],
      )
      if (entries.length > 0) made[name] = entries
    } else if (note(resource, root, root) || rare.size > before) made[name] = null
  }
  return made
}

const read = (): Chosen => {
  const before = readRunFile(CHOSEN)
  if (before !== undefined) return JSON.parse(before)
  const made = choose()
  writeRunFile(CHOSEN, JSON.stringify(made))
  return made
}

let chosen: Chosen | undefined
const isWhole = process.env.ALL_EXAMPLES !== undefined
/** True of the name of a file of the part, and of any with `ALL_EXAMPLES=1`. */
export const isChosen = (name: string): boolean => {
  if (isWhole) return true
  chosen ??= read()
  return name in chosen
}

/** The text of a file, or of the chosen entries of a large Bundle. */
export const readChosen = (name: string): string => {
  const text = readFileSync(join(examplesFolder, name), 'utf8')
  if (isWhole) return text
  chosen ??= read()
  const entries = chosen[name]
  if (!Array.isArray(entries)) return text
  const bundle = JSON.parse(text)
  return JSON.stringify({ ...bundle, entry: entries.map((at) => bundle.entry[at]) })
}
