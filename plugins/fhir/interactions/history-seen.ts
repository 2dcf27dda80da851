/**
 * The history for a caller who may see a part of the data. Whether a version is visible is decided by its own content.
 * Reading goes on until the page is full and one more visible version is found, so that neither the length of a page
 * nor a next link reveals hidden versions.
 */
import type { Clock, RequestContext, Ruling } from '../../../kernel/index.ts'
import { SEARCH_MS } from '../../search/service.ts'
import type { HistoryPage, HistoryQuery, StoredVersion } from '../../storage/service.ts'
import { NotFound } from '../../storage/service.ts'
import { HistoryTooLong } from '../errors.ts'
import type { View } from '../view.ts'

const MIN_READ = 100 // versions read at once, however small the page is
const MAX_READ = 500 // versions read at once after many hidden ones; a larger page is read as one
const MIN_DECIDED = 20 // versions decided on at once
const PAGE_BYTES = 16 * 1024 * 1024 // stored bytes of a page, as in histories without restrictions

type Looking = Pick<View, 'reads' | 'access'> & { readonly clock: Clock }

/**
 * Yields the visible versions, newest first, and reads more as the caller iterates. Calls `passed` for each hidden one.
 */
async function* seenVersions(
  { reads, access, clock }: Looking,
  request: RequestContext,
  ruling: Ruling,
  query: HistoryQuery,
  passed?: () => void,
): AsyncGenerator<StoredVersion> {
  // Versions in the history of a type or of the server need the right to search, those of one resource the right to
  // read.
  const right = query.id === undefined ? 's' : 'r'
  const late = clock.deadline(SEARCH_MS)
  const signal = AbortSignal.any([request.signal, late])
  const asking = { ownUrl: request.ownUrl, caller: request.caller, signal }
  let { before } = query
  let count = Math.max(query.count, MIN_READ)
  // So many are decided on together as may fill the page. Each further reading, and each further decision, is of twice
  // as many: a page costs few statements where most versions are hidden.
  let decided = Math.max(query.count + 1, MIN_DECIDED)
  try {
    do {
      const { versions, next } = await reads.history({ ...query, before, count }, signal)
      for (let at = 0; at < versions.length; ) {
        const some = versions.slice(at, at + decided)
        const allowed = await access.allowed(asking, ruling, right, some)
        for (const version of some) {
          if (allowed.has(version)) yield version
          else passed?.()
        }
        signal.throwIfAborted()
        at += decided
        decided *= 2
      }
      before = next
      count = Math.max(count, Math.min(count * 2, MAX_READ))
    } while (before !== undefined)
  } catch (error) {
    throw late.aborted && !request.signal.aborted ? HistoryTooLong(SEARCH_MS / 1000).with({ cause: error }) : error
  }
}

/** Throws 404 when the caller may see no version of the resource, whatever else the query selects. */
const checkAnySeen = async (
  looking: Looking,
  request: RequestContext,
  ruling: Ruling,
  { type, id }: HistoryQuery,
): Promise<void> => {
  if (type === undefined || id === undefined) return
  let hidden = false
  const passed = (): void => {
    hidden = true
  }
  for await (const _version of seenVersions(looking, request, ruling, { type, id, count: 1 }, passed)) return
  throw NotFound(type, id.slice(0, 64)).with({ hidden })
}

export const findSeen = async (
  looking: Looking,
  request: RequestContext,
  ruling: Ruling,
  query: HistoryQuery,
): Promise<HistoryPage> => {
  const versions: StoredVersion[] = []
  let bytes = 0
  for await (const version of seenVersions(looking, request, ruling, query)) {
    if (versions.length === query.count || bytes > PAGE_BYTES) return { versions, next: versions.at(-1)?.versionTime }
    versions.push(version)
    bytes += version.bytes.length
  }
  if (versions.length === 0) await checkAnySeen(looking, request, ruling, query)
  return { versions, next: undefined }
}
