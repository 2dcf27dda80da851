/** Finds a stored resource by `url`, with a version or without, or by `Type/id`. https://hl7.org/fhir/R4/references.html#canonical */
import type { CurrentResource, Resources } from '../fhir/service.ts'
import { compareDefinitions } from './compare-definitions.ts'
import { orNone } from './or-none.ts'

/** What the preferred one is chosen by. */
interface Named {
  readonly url?: unknown
  readonly version?: unknown
  readonly status?: unknown
}

/** Finds a stored resource by `url`, with its version where that is given, or by `Type/id`, as `read` reads it. */
export type FindStored = <T extends Named>(
  type: string,
  name: string,
  version: string | undefined,
  read: (held: CurrentResource) => T | Promise<T>,
) => Promise<T | undefined>

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
  (resources: () => Resources): FindStored =>
  async <T extends Named>(
    type: string,
    name: string,
    version: string | undefined,
    read: (held: CurrentResource) => T | Promise<T>,
  ) => {
    const session = resources().as({ kind: 'internal', purpose: 'terminology' })
    const [, named, id] = (version === undefined && BY_ID.exec(name)) || []
    if (id !== undefined) {
      const held = named === type ? await orNone(session.read(type, id)) : undefined
      return held && read(held)
    }
    if (name === '' || version === '') return undefined
    const query = new URLSearchParams({ url: escaped(name), _count: String(MAX_CANDIDATES) })
    if (version !== undefined) query.set('version', escaped(version))
    const page = await orNone(session.search(type, query.toString()))
    const found: T[] = []
    for (const held of page?.matches ?? []) found.push(await read(held))
    return found
      .filter((one) => one.url === name && (version === undefined || one.version === version))
      .sort(compareDefinitions)[0]
  }
