/**
 * All resources that match, in the order of their resource keys. A page continues after the key at which the last one
 * ended.
 */
import { type TypeCatalog, typeOf } from '../../model/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { checkOwnedSearch } from '../interactions/check-owned-read.ts'
import type { ServerOwnedTypes } from '../interactions/owned-types.ts'
import { auditedPages, type ReadPage } from './audited-pages.ts'
import { matchingOf, readSelecting } from './criteria.ts'
import { SessionKey } from './errors.ts'
import { toStreamed } from './held.ts'
import type { Seat } from './seat.ts'
import type { SessionReads, Streamed } from './session.ts'

const KEY = /^(\d{1,16})\.(\d{1,16})$/

/** `pin` is the snapshot key of the stream, `rid` the resource key after which it continues. */
const readKey = (key: string): { readonly pin: number; readonly rid: number } => {
  const [, pin, rid] = KEY.exec(key) ?? []
  if (pin === undefined || rid === undefined) throw SessionKey(key.slice(0, 40))
  return { pin: Number(pin), rid: Number(rid) }
}

export interface StreamParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly audit: Pick<AuditDetails, 'patientsLater'>
  readonly owned: Pick<ServerOwnedTypes, 'readElsewhere' | 'checkRead'>
}

/** `parts` returns the parts once the server has started. */
export const createStream = (parts: () => StreamParts, seat: Seat): SessionReads['stream'] =>
  async function* (type, query, { after, within = {} } = {}): AsyncGenerator<Streamed> {
    const { above = 0, upTo = Number.MAX_SAFE_INTEGER - 1 } = within
    const pairs = readSelecting(query)
    const { catalog, audit, owned } = parts()
    checkOwnedSearch(owned, type, query)
    const { view: first } = seat.open()
    const { name } = typeOf({ catalog }, type)
    const begun = after === undefined ? { pin: await first.search.snapshotKey(), rid: upTo + 1 } : readKey(after)
    const { pin } = begun
    let below = Math.min(begun.rid, upTo + 1)
    const readPage: ReadPage = async ({ view, request }, ruling) => {
      const conditions = async () => (await matchingOf(catalog, view, request, ruling, name, pairs)).conditions
      const { versions, next } = await view.search.stream({
        context: request,
        type: name,
        conditions,
        pin,
        below,
        above,
      })
      below = next ?? below
      return { versions, isLast: next === undefined }
    }
    for await (const version of auditedPages(audit, seat, { kind: 'search-type', type: name }, query, readPage))
      yield toStreamed(version, `${pin}.${version.rid}`)
  }
