/** All resources that match, in the order of their numbers: a page is found by the number behind which it begins. */

import { typeOf } from '../../model/type-of.ts'
import { createPatience } from '../../search/plan/deadline.ts'
import { matchingOf, readSelecting } from './criteria.ts'
import { SessionKey } from './errors.ts'
import { toStreamed } from './held.ts'
import type { Opened, Seat } from './seat.ts'
import type { NumberRange, SessionReads, Streamed } from './session.ts'
import { type ReadPage, toldPages } from './told-pages.ts'

const PAGE = 500 // resources read at once
const PAGE_BYTES = 16 * 1024 * 1024 // of them, as they lie in the database

const KEY = /^(\d{1,16})\.(\d{1,16})$/

/** Up to which number there were resources when it began, and the number behind which it goes on. */
interface Place {
  pin: number
  rid: number
}

const toKey = (pin: number, rid: number): string => `${pin}.${rid}`

const readKey = (key: string): Place => {
  const [, pin, rid] = KEY.exec(key) ?? []
  if (pin === undefined || rid === undefined) throw SessionKey(key.slice(0, 40))
  return { pin: Number(pin), rid: Number(rid) }
}

/** As many of the first as fit, one at least. */
const fitting = (places: readonly { readonly rid: number; readonly bytes: number }[]): readonly number[] => {
  let bytes = 0
  const cut = places.findIndex((one, at) => {
    bytes += Number(one.bytes)
    return at > 0 && bytes > PAGE_BYTES
  })
  return places.slice(0, cut === -1 ? places.length : cut).map(({ rid }) => Number(rid))
}

export const createStream = (seat: Seat): SessionReads['stream'] =>
  async function* (type, query, { after, within = {} } = {}): AsyncGenerator<Streamed> {
    const { above = 0, upTo = Number.MAX_SAFE_INTEGER - 1 }: NumberRange = within
    const pairs = readSelecting(query)
    const first = seat.open()
    const { name } = typeOf(first.server, type)
    const place = after === undefined ? { pin: await first.server.search.pin(), rid: upTo + 1 } : readKey(after)
    place.rid = Math.min(place.rid, upTo + 1)

    const readPage: ReadPage = async ({ server, request }: Opened, ruling) => {
      const { search, store, clock } = server
      const patience = createPatience(request, clock)
      try {
        const { conditions } = await matchingOf(server, request, ruling, name, pairs)
        const plan = await search.planner(store.types.code(name) ?? 0, conditions)
        const places = await search.executor.places(plan, { ...place, keys: [] }, PAGE, patience)
        const inside = places.filter(({ rid }) => rid > above)
        const rids = fitting(inside)
        place.rid = rids.at(-1) ?? place.rid
        const isEnd = places.length < PAGE || inside.length < places.length
        const versions = await search.executor.passing(rids, patience)
        return { versions, isLast: isEnd && rids.length === inside.length }
      } catch (error) {
        throw patience.refusal(error)
      }
    }
    for await (const version of toldPages(seat, { kind: 'search-type', type: name }, query, readPage))
      yield toStreamed(version, toKey(place.pin, version.rid))
  }
