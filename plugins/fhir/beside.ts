/** Resources that are not stored and that clients can read and search, but not change: the definitions of packages. */
import type { ServerError } from '../../kernel/index.ts'
import { chain, type MaybePromise, type Transaction } from '../database/service.ts'
import type { BesideSource } from '../search/service.ts'
import type { HistoryQuery, StoredVersion } from '../storage/service.ts'
import type { View } from './view.ts'

export interface BesideResources extends BesideSource {
  /** Whether the id is of those that only resources beside the stored ones have. It is asked about every id that is read. */
  isReserved(type: string, id: string): boolean
  /** Undefined where there is none. It has one version. */
  read(type: string, id: string, transaction: Transaction | undefined): MaybePromise<StoredVersion | undefined>
  /** The refusal of a change of a resource with a reserved id. */
  refuse(type: string, id: string): ServerError
}

/** Whether the history of a resource with this one version shows it. */
const isIn = ({ versionTime }: StoredVersion, { before, since = 0, during }: HistoryQuery): boolean =>
  versionTime < (before ?? Number.POSITIVE_INFINITY) &&
  versionTime >= since &&
  (during === undefined || versionTime < during.to)

/** Reads of the stored resources, and of those beside them. What is stored under the same id comes first. */
export const withBeside = (
  stored: View['reads'],
  beside: BesideResources | undefined,
  transaction?: Transaction,
): View['reads'] => {
  if (beside === undefined) return stored
  const other = (type: string, id: string): MaybePromise<StoredVersion | undefined> =>
    beside.read(type, id, transaction)
  const reads: Partial<View['reads']> = {
    read: (type, id) =>
      beside.isReserved(type, id)
        ? chain(stored.read(type, id), (found) => found ?? other(type, id))
        : stored.read(type, id),
    async vread(type, id, version) {
      const found = await stored.vread(type, id, version)
      return found ?? (version === 1 && beside.isReserved(type, id) ? other(type, id) : undefined)
    },
    async history(query, signal) {
      const page = await stored.history(query, signal)
      const { type, id } = query
      if (type === undefined || id === undefined || page.versions.length > 0 || !beside.isReserved(type, id))
        return page
      const found = await other(type, id)
      return found === undefined || !isIn(found, query) ? page : { versions: [found], next: undefined }
    },
    // It never changes while the server runs with the same packages.
    isCurrent: (version) => version.rid < 0 || stored.isCurrent(version),
    within: (opened) => withBeside(stored.within(opened), beside, opened) as ReturnType<View['reads']['within']>,
  }
  // Not a spread copy, which would read the getters of the store once only.
  return Object.assign(Object.create(stored), reads)
}
