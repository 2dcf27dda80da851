/**
 * Resolves references inside one resource: to contained resources by `#id`, and in a Bundle to other entries by fullUrl.
 * https://hl7.org/fhir/R4/bundle.html#references
 */

import { readLiteral } from './literal.ts'
import type { ContainerScope } from './reference-walker.ts'

type Json = Readonly<Record<string, unknown>>

export interface LocalTargets {
  /** The contained resource that `#id` names, or the container itself for `#`; undefined if there is none. */
  contained(text: string, scope: ContainerScope): Json | undefined
  /** The resource of the Bundle entry that a reference names; undefined if there is none. */
  entry(text: string, scope: ContainerScope): Json | undefined
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const containedOf = ({ contained }: Json): Map<string, Json> =>
  new Map(listOf(contained).flatMap((one) => (isObject(one) ? [[`#${one.id}`, one]] : [])))
const entriesOf = ({ entry }: Json): Map<string, Json> =>
  new Map(
    listOf(entry).flatMap((one) =>
      isObject(one) && typeof one.fullUrl === 'string' && isObject(one.resource) ? [[one.fullUrl, one.resource]] : [],
    ),
  )

/** Use one object for one resource: it caches the maps of contained resources and entries, which it makes when needed. */
export const createLocalTargets = (): LocalTargets => {
  const lists = new Map<Json, Map<string, Json>>()
  const listed = (holder: Json, list: (holder: Json) => Map<string, Json>): Map<string, Json> => {
    const found = lists.get(holder) ?? list(holder)
    lists.set(holder, found)
    return found
  }
  return {
    contained(text, { resource }) {
      if (text === '#') return resource
      return listed(resource, containedOf).get(text)
    },
    entry(text, { entry }) {
      if (entry === undefined) return undefined
      const entries = listed(entry.bundle, entriesOf)
      const exact = entries.get(text)
      if (exact !== undefined) return exact
      const literal = readLiteral(text)
      if (literal === undefined) return undefined
      const own = typeof entry.fullUrl === 'string' ? readLiteral(entry.fullUrl)?.base : undefined
      const base = literal.base === '' ? own : literal.base
      return base === undefined ? undefined : entries.get(`${base}/${literal.type}/${literal.id}`)
    },
  }
}
