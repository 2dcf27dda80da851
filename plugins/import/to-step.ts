/** Decides how a record is stored: as one change, or as a transaction Bundle. */
import { isServerError } from '../../kernel/index.ts'
import type { SessionChange } from '../fhir/service.ts'
import { itemsAt, membersAt, type ParsedResource, parseResourceText, skipSpace } from '../model/service.ts'
import { EntryWithoutResource, NoJson, NoType, OtherType } from './errors.ts'

export type ImportStep =
  | { readonly kind: 'change'; readonly change: SessionChange }
  /** `resources`: how many entries it has. */
  | { readonly kind: 'transaction'; readonly json: string; readonly resources: number }

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Characters; a longer record may be one that a thread parses. */
const MAX_PARSED = 65_536

/**
 * Parses the record as the session does, which then need not do it again. What the session refuses is parsed here all the
 * same, so that the session refuses it, and records that.
 */
const parse = (json: string): { readonly resource: Json; readonly parsed: ParsedResource | undefined } => {
  if (json.length <= MAX_PARSED)
    try {
      const parsed = parseResourceText(json)
      return { resource: parsed.resource, parsed }
    } catch (error) {
      if (!isServerError(error)) throw error
    }
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw NoJson((error as Error).message)
  }
  if (!isObject(value)) throw NoJson('it is another value')
  return { resource: value, parsed: undefined }
}

/** Bundles that list resources as they are; `searchset` may hold outcomes of the search beside them. */
const LISTS: ReadonlySet<unknown> = new Set(['collection', 'searchset'])

/** The text of a member of the object that begins at `start`; of members with the same key the last one, as JSON.parse does. */
const textOf = (json: string, start: number, key: string): string | undefined => {
  const member = membersAt(json, start).findLast((one) => one.key === key)
  return member && json.slice(member.valueStart, member.valueEnd)
}

/** An entry that stores a resource under its own id, or under a new one. The text of the resource stays as it is. */
const toEntry = (value: unknown, index: number, json: string, start: number): string | undefined => {
  if (isObject(value) && isObject(value.search) && value.search.mode === 'outcome') return undefined
  if (!isObject(value) || !isObject(value.resource)) throw EntryWithoutResource(index)
  const { fullUrl, resource } = value
  const { resourceType: type, id } = resource
  if (typeof type !== 'string') throw NoType().with({ expression: [`Bundle.entry[${index}].resource`] })
  const request = typeof id === 'string' ? { method: 'PUT', url: `${type}/${id}` } : { method: 'POST', url: type }
  const named = typeof fullUrl === 'string' ? `"fullUrl":${JSON.stringify(fullUrl)},` : ''
  return `{${named}"request":${JSON.stringify(request)},"resource":${textOf(json, start, 'resource')}}`
}

const listToTransaction = (bundle: Json, json: string): ImportStep => {
  const list = membersAt(json, skipSpace(json, 0)).findLast(({ key }) => key === 'entry')!
  const starts = itemsAt(json, list.valueStart)
  const entries = (bundle.entry as unknown[]).map((value, index) => toEntry(value, index, json, starts[index]!.start))
  const kept = entries.filter((one) => one !== undefined)
  const text = `{"resourceType":"Bundle","type":"transaction","entry":[${kept.join(',')}]}`
  return { kind: 'transaction', json: text, resources: kept.length }
}

/**
 * A transaction Bundle stays as it is. The entries of a collection or searchset are stored in one transaction, so that
 * their references to each other by `fullUrl` are resolved. All else is stored as a resource, under its id where it has
 * one. `only`: the type that it has to have. Throws `NoJson`, `NoType`, `OtherType` and `EntryWithoutResource`.
 */
export const toStep = (json: string, only?: string): ImportStep => {
  const { resource, parsed } = parse(json)
  const { resourceType: type, id, entry } = resource
  if (typeof type !== 'string') throw NoType()
  if (only !== undefined && type !== only) throw OtherType(type.slice(0, 64), only)
  if (type === 'Bundle' && Array.isArray(entry)) {
    if (resource.type === 'transaction') return { kind: 'transaction', json, resources: entry.length }
    if (LISTS.has(resource.type)) return listToTransaction(resource, json)
  }
  return typeof id === 'string'
    ? { kind: 'change', change: { kind: 'update', type, id, json, parsed } }
    : { kind: 'change', change: { kind: 'create', type, json, parsed } }
}
