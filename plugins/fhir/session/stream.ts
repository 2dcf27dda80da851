/** All resources that match, in the order of their numbers: a page is found by the number behind which it begins. */
import { typeOf } from '../../model/service.ts'
import { readStreamPage } from '../../search/service.ts'
import { matchingOf, readSelecting } from './criteria.ts'
import { SessionKey } from './errors.ts'
import { toStreamed } from './held.ts'
import type { Seat } from './seat.ts'
import type { SessionReads, Streamed } from './session.ts'
import { type ReadPage, toldPages } from './told-pages.ts'

const KEY = /^(\d{1,16})\.(\d{1,16})$/

/** Up to which number there were resources when it began, and the number behind which it goes on. */
const readKey = (key: string): { readonly pin: number; readonly rid: number } => {
  const [, pin, rid] = KEY.exec(key) ?? []
  if (pin === undefined || rid === undefined) throw SessionKey(key.slice(0, 40))
  return { pin: Number(pin), rid: Number(rid) }
}

export const createStream = (seat: Seat): SessionReads['stream'] =>
  async function* (type, query, { after, within = {} } = {}): AsyncGenerator<Streamed> {
    const { above = 0, upTo = Number.MAX_SAFE_INTEGER - 1 } = within
    const pairs = readSelecting(query)
    const { server: first } = seat.open()
    const { name } = typeOf(first, type)
    const begun = after === undefined ? { pin: await first.search.snapshotKey(), rid: upTo + 1 } : readKey(after)
    const { pin } = begun
    let below = Math.min(begun.rid, upTo + 1)
    const readPage: ReadPage = async ({ server, request }, ruling) => {
      const conditions = async () => (await matchingOf(server, request, ruling, name, pairs)).conditions
      const { versions, next } = await readStreamPage(server, {
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
    for await (const version of toldPages(seat, { kind: 'search-type', type: name }, query, readPage))
      yield toStreamed(version, `${pin}.${version.rid}`)
  }
