/** Finds a stored resource by `url`, with a version or without, or by `Type/id`. https://hl7.org/fhir/R4/references.html#canonical */
import type { Resources } from '../fhir/service.ts'
import { compareDefinitions } from './compare-definitions.ts'
import type { FindStoredDefinition } from './find.ts'
import { orNone } from './or-none.ts'

type Resource = Readonly<Record<string, unknown>>

const BY_ID = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})$/
/** Maximum number of resources with one url that are compared, the newest ones. */
const MAX_CANDIDATES = 50

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
      .sort(compareDefinitions)[0]
  }
