/**
 * The versions before and after a change that the feed names: those that this process has just written, or else from the
 * database.
 */
import { type Hooks, isServerError } from '../../kernel/index.ts'
import type { ResourceChange } from '../database/service.ts'
import type { CurrentResource, SessionReads } from '../fhir/service.ts'
import type { Versions } from './change-source.ts'

const MAX_WRITTEN = 20_000 // changes of this process that were not requested yet

export interface ChangedVersions {
  /** Rejects where they cannot be read. */
  of(change: ResourceChange): Promise<Versions>
  /** Forgets what this process has written. */
  clear(): void
}

const keyOf = ({ type, id, version }: Pick<ResourceChange, 'type' | 'id' | 'version'>): string =>
  `${type}/${id}/${version}`

/** `wants`: whether versions of a type that this process writes will be requested; undefined while there are no live queries. */
export const createChangedVersions = (
  hooks: Pick<Hooks, 'onCommit'>,
  internal: Pick<SessionReads, 'read'>,
  wants: () => ((type: string) => boolean) | undefined,
): ChangedVersions => {
  const written = new Map<string, Versions>()
  hooks.onCommit.tap('versions for live queries', ({ changes }) => {
    const isWanted = wants()
    // The whole cost while there are no live queries.
    if (isWanted === undefined) return
    for (const { previous, next, resource } of changes) {
      if (!isWanted(next.type)) continue
      // Versions that were requested before this call were read from the database, and stay in the map.
      if (written.size >= MAX_WRITTEN) written.clear()
      written.set(keyOf(next), { previous, next, resource })
    }
  })

  /** Undefined for a deletion, and where there is none. */
  const read = async (type: string, id: string, version: number): Promise<CurrentResource | undefined> => {
    try {
      return await internal.read(type, id, version)
    } catch (error) {
      if (isServerError(error) && error.status < 500) return undefined
      throw error
    }
  }
  return {
    async of(change) {
      const key = keyOf(change)
      const known = written.get(key)
      if (known !== undefined) {
        written.delete(key)
        return known
      }
      const { type, id, version, stamp, deleted } = change
      const [previous, next] = await Promise.all([
        version > 1 ? read(type, id, version - 1) : undefined,
        deleted ? { type, id, version, lastUpdated: Math.trunc(stamp / 1_000) } : read(type, id, version),
      ])
      if (next === undefined) throw new Error(`${key} is not stored`)
      return { previous, next, resource: undefined }
    },
    clear: () => written.clear(),
  }
}
