/**
 * The history for a caller who may see a part of the data. Whether a version is visible is decided by its own content.
 * Reading goes on until the page is full and one more visible version is found, so that neither the length of a page
 * nor a next link reveals hidden versions.
 */
import { type Clock, createPause, type RequestContext, type Ruling } from '../../../kernel/index.ts'
import { SEARCH_MS } from '../../search/service.ts'
import type { HistoryPage, HistoryQuery, StoredVersion } from '../../storage/service.ts'
import { NotFound } from '../../storage/service.ts'
import { HistoryTooLong } from '../errors.ts'
import type { View } from '../view.ts'

const MIN_READ = 100 // versions read at once, however small the page is
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
  // Reads from SQLite are synchronous, so other requests run only during this pause.
  const pause = createPause()
  let { before } = query
  try {
    do {
      const page = await reads.history({ ...query, before, count: Math.max(query.count, MIN_READ) }, signal)
      for (const version of page.versions) {
        const allowed = access.allows(request, ruling, right, version)
        if (allowed instanceof Promise ? await allowed : allowed) yield version
        else passed?.()
        await pause()
        signal.throwIfAborted()
      }
      before = page.next
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
