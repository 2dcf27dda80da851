/**
 * Reads all matches in parts of limited size, in the order of resource keys. Each part continues below the last key
 * of the one before.
 */
import type { RequestContext } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { SearchClause } from '../query/clause.ts'
import { createDeadline } from './deadline.ts'
import type { SearchView } from './search-view.ts'

const PAGE = 500 // resources read at once
const PAGE_BYTES = 16 * 1024 * 1024 // most bytes of these, as they are stored

export interface StreamQuery {
  readonly context: RequestContext
  readonly type: string
  /** Returns the clauses of the query and the ruling. Throws 4xx. */
  conditions(): Promise<readonly SearchClause[]>
  /** The largest resource key when the stream began. */
  readonly pin: number
  /** Only resource keys smaller than this and larger than `above`. */
  readonly below: number
  readonly above: number
}

export interface StreamPage {
  /** Newest first. Resources that were deleted meanwhile are left out. */
  readonly versions: StoredVersion[]
  /** The resource key below which the next part begins. Undefined after the last part. */
  readonly next: number | undefined
}

interface Place {
  readonly rid: number
  readonly bytes: number
}

/** The first resources that fit into PAGE_BYTES, at least one. */
const fitting = (places: readonly Place[]): readonly Place[] => {
  let bytes = 0
  const cut = places.findIndex((one, at) => {
    bytes += Number(one.bytes)
    return at > 0 && bytes > PAGE_BYTES
  })
  return cut === -1 ? places : places.slice(0, cut)
}

/** Throws what `conditions` throws, and 403 where it takes too long. */
export const readStreamPage = async (
  { search, store, clock }: SearchView,
  { context, type, conditions, pin, below, above }: StreamQuery,
): Promise<StreamPage> => {
  const deadline = createDeadline(context, clock)
  try {
    const plan = await search.planner(store.types.code(type) ?? 0, await conditions())
    const places = await search.executor.places(plan, { snapshotKey: pin, rid: below, keys: [] }, PAGE, deadline)
    const inside = places.filter(({ rid }) => rid > above)
    const read = fitting(inside)
    const isEnd = read.length === inside.length && (places.length < PAGE || inside.length < places.length)
    const rids = read.map(({ rid }) => rid)
    const versions = await search.executor.passing(rids, deadline, [plan])
    return { versions, next: isEnd ? undefined : rids.at(-1) }
  } catch (error) {
    throw deadline.refusal(error)
  } finally {
    deadline.end()
  }
}
