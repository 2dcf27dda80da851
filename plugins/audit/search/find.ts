/** Events newest first, by keyset: pages hold still while others are added. */
import { type Database, type Sql, sql } from '../../database/service.ts'
import { COLUMNS, type HeadRow, type Row, readHead } from '../tables.ts'
import type { Condition } from './parameters.ts'
import { drawerOf, placeIn } from './place.ts'

const MOST_SHAPES = 200 // texts that are kept; clients ask in few ways
const DRAWERS = 400 // looked into at once: some three million events

export interface Position {
  readonly at: number
  readonly seq: number
}

export interface Finder {
  /** At most `limit` rows behind `after`. */
  find(
    conditions: readonly Condition[],
    after: Position | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Row[]>
}

export const createFinder = (database: Database): Finder => {
  const made = new Map<string, Sql>()
  const statement = (text: string): Sql => {
    const known = made.get(text)
    if (known !== undefined) return known
    if (made.size >= MOST_SHAPES) made.clear()
    const one = sql(`audit.find-${made.size}`, text)
    made.set(text, one)
    return one
  }
  const select = (conditions: readonly Condition[], order: string, limit: number, signal: AbortSignal) => {
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.map(({ text }) => text).join(' AND ')}`
    const text = `SELECT ${COLUMNS.join(', ')} FROM audit_event ${where} ORDER BY ${order} LIMIT ?`
    return database.slow<Row>(statement(text), [...conditions.flatMap(({ params }) => params), limit], signal)
  }

  /** From the newest drawer to the oldest, until there are enough. */
  const findInDrawers: (places: NonNullable<Condition['places']>) => Finder['find'] =
    (places) => async (conditions, after, limit, signal) => {
      const head = await database.get<HeadRow>(readHead, [])
      if (head === undefined) return []
      const behind = after === undefined ? [] : [{ text: 'seq < ?', params: [after.seq] }]
      const last = drawerOf(head.pruned_seq)
      const found: Row[] = []
      for (let drawer = drawerOf(after?.seq ?? head.seq); drawer >= last && found.length < limit; drawer -= DRAWERS) {
        // Always as many, so that there is one statement; those before the first are empty.
        const drawers = Array.from({ length: DRAWERS }, (_, at) => drawer - at)
        const where: Condition = {
          text: `(${places.map(({ column }) => `${column} IN (${drawers.map(() => '?').join(', ')})`).join(' OR ')})`,
          params: places.flatMap(({ id }) => drawers.map((one) => placeIn(one, id))),
        }
        found.push(...(await select([where, ...conditions, ...behind], 'seq DESC', limit - found.length, signal)))
      }
      return found
    }

  return {
    find(conditions, after, limit, signal) {
      const places = conditions.find((one) => one.places !== undefined)?.places
      if (places !== undefined) return findInDrawers(places)(conditions, after, limit, signal)
      const behind = after === undefined ? [] : [{ text: '(at, seq) < (?, ?)', params: [after.at, after.seq] }]
      return select([...conditions, ...behind], 'at DESC, seq DESC', limit, signal)
    },
  }
}
