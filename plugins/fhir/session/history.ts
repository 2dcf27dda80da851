/** Versions of a resource, a type or the whole server, newest first, read page by page. */
import type { Clock, Interaction } from '../../../kernel/index.ts'
import { type TypeCatalog, typeOf } from '../../model/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { findHistory } from '../interactions/history.ts'
import { auditedPages, type ReadPage } from './audited-pages.ts'
import { SessionKey } from './errors.ts'
import { toPast } from './held.ts'
import type { Seat } from './seat.ts'
import type { HistoryOptions, PastVersion, SessionReads } from './session.ts'

const PAGE = 500 // versions read at once, or 16 MB of them
const MICROSECONDS = 1_000 // in a millisecond: version times are in microseconds

const readKey = (key: string): number => {
  if (!/^\d{1,16}$/.test(key)) throw SessionKey(key.slice(0, 40))
  return Number(key)
}

/** The version time before which the history begins, in microseconds; undefined for no bound. */
const startOf = ({ upTo, after }: HistoryOptions): number | undefined => {
  const bounds = [
    ...(upTo === undefined ? [] : [(upTo + 1) * MICROSECONDS]),
    ...(after === undefined ? [] : [readKey(after)]),
  ]
  return bounds.length === 0 ? undefined : Math.min(...bounds)
}

export interface HistoryParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  readonly audit: Pick<AuditDetails, 'patientsLater'>
}

/** `parts` returns the parts once the server has started. */
export const createHistory = (parts: () => HistoryParts, seat: Seat): SessionReads['history'] =>
  async function* (options): AsyncGenerator<PastVersion> {
    const { type, id, since } = options
    const { catalog, clock, audit } = parts()
    if (type !== undefined) typeOf({ catalog }, type)
    const kind = id !== undefined ? 'history-instance' : type !== undefined ? 'history-type' : 'history-system'
    const interaction: Interaction = { kind, type, id }
    let before = startOf(options)
    const readPage: ReadPage = async ({ view, request }, ruling) => {
      const query = { type, id, before, since: since === undefined ? undefined : since * MICROSECONDS, count: PAGE }
      const { versions, next } = await findHistory(view, clock, request, ruling, query)
      before = next
      return { versions: [...versions], isLast: next === undefined }
    }
    for await (const version of auditedPages(audit, seat, interaction, '', readPage)) yield toPast(version)
  }
