/** A stored resource by what others call it: `url`, `url|version`, or `Type/id`. https://hl7.org/fhir/R4/references.html#canonical */
import type { Store } from '../../storage/service.ts'
import type { Registry } from '../index/registry.ts'
import { q } from '../sql/fragment.ts'
import type { Patience } from './deadline.ts'
import type { Executor } from './executor.ts'

type Resource = Readonly<Record<string, unknown>>

const BY_ID = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})$/
/** Of one url so many resources are looked at, the newest. */
const MOST = 50

const ORDER = new Intl.Collator('en', { numeric: true })
const rank = ({ status, version }: Resource): readonly [number, string] => [
  status === 'active' ? 2 : status === 'draft' ? 1 : 0,
  typeof version === 'string' ? version : '',
]
/** Active before draft before retired, then the highest version. */
const compare = (one: Resource, other: Resource): number => {
  const [[status, version], [otherStatus, otherVersion]] = [rank(one), rank(other)]
  return otherStatus - status || ORDER.compare(otherVersion, version)
}

export interface CanonicalParts {
  readonly registry: Registry
  readonly executor: Executor
  readonly store: Store
}

/** The one that counts, or undefined when nothing is stored under that name. */
export const createFindCanonical =
  ({ registry, executor, store }: CanonicalParts) =>
  async (type: string, name: string, asking: Patience): Promise<Resource | undefined> => {
    const [, named, id] = BY_ID.exec(name) ?? []
    if (id !== undefined) {
      const version = named === type ? await store.read(type, id) : undefined
      return version === undefined || version.deleted ? undefined : (JSON.parse(version.text) as Resource)
    }
    const column = registry.canonicalColumn(type)
    if (column === undefined) return undefined
    const rows = await executor.select<{ rid: number }>(
      q`SELECT x.rid AS rid FROM ix_ref x WHERE x.param = ${column} AND x.target = ${registry.hasher.long(name)} ORDER BY x.rid DESC LIMIT ${MOST}`,
      asking,
    )
    const versions = await executor.versions(
      rows.map(({ rid }) => rid),
      asking,
    )
    // Hashes are found by; the names themselves decide.
    return versions
      .map(({ text }) => JSON.parse(text) as Resource)
      .filter(({ url, version }) => url === name || `${url}|${version}` === name)
      .sort(compare)[0]
  }
