/** Finds a stored resource by `url`, with a version or without, or by `Type/id`. https://hl7.org/fhir/R4/references.html#canonical */
import { isServerError } from '../../kernel/index.ts'
import type { Resources } from '../fhir/service.ts'
import type { FindStoredDefinition } from './find.ts'

type Resource = Readonly<Record<string, unknown>>

const BY_ID = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})$/
/** Maximum number of resources with one url that are compared, the newest ones. */
const MAX_CANDIDATES = 50

const ORDER = new Intl.Collator('en', { numeric: true })
const rank = ({ status, version }: Resource): readonly [number, string] => [
  status === 'active' ? 2 : status === 'draft' ? 1 : 0,
  typeof version === 'string' ? version : '',
]
/** Orders active before draft before others, then by descending version. */
const compare = (one: Resource, other: Resource): number => {
  const [[status, version], [otherStatus, otherVersion]] = [rank(one), rank(other)]
  return otherStatus - status || ORDER.compare(otherVersion, version)
}

/** True for a missing resource, and for a search parameter that the installed packages do not define. */
const isNone = (error: unknown): boolean =>
  isServerError(error) &&
  ['fhir/not-found', 'fhir/deleted', 'fhir/unknown-type', 'fhir/search-parameter-unknown'].includes(error.key)

const orNone = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (error) {
    if (isNone(error)) return undefined
    throw error
  }
}

/** https://hl7.org/fhir/R4/search.html#escaping */
const escaped = (value: string): string => value.replace(/[\\,$|]/g, '\\$&')

/**
 * Returns the preferred resource, or undefined. The server itself reads it, without a caller's restrictions: only for
 * definitions, never for patient data.
 */
export const createFindStored =
  (resources: () => Resources): FindStoredDefinition =>
  async (type, name, version) => {
    const session = resources().as({ kind: 'internal', purpose: 'terminology' })
    const [, named, id] = (version === undefined && BY_ID.exec(name)) || []
    if (id !== undefined) return named === type ? (await orNone(session.read(type, id)))?.parse() : undefined
    if (name === '' || version === '') return undefined
    const query = new URLSearchParams({ url: escaped(name), _count: String(MAX_CANDIDATES) })
    if (version !== undefined) query.set('version', escaped(version))
    const page = await orNone(session.search(type, query.toString()))
    return page?.matches
      .map((held): Resource => held.parse())
      .filter((one) => one.url === name && (version === undefined || one.version === version))
      .sort(compare)[0]
  }
