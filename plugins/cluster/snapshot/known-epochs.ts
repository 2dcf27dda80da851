/** Caches epochs of the database. Past epochs do not change; the current one is dropped when another one begins. */
import { type Database, readEpoch } from '../../database/service.ts'
import type { Epoch } from './snapshot-source.ts'

const MAX_KEPT = 64

export interface KnownEpochs {
  /** Undefined, or a promise of it, where the database has no epoch of this number. */
  of(number: number): Epoch | undefined | Promise<Epoch | undefined>
}

/** `current`: the number of the current epoch; undefined where it is not known. */
export const createKnownEpochs = (database: Database, current: () => number | undefined): KnownEpochs => {
  const kept = new Map<number, Epoch>()
  let keptIn: number | undefined

  const read = async (number: number): Promise<Epoch | undefined> => {
    const asked = current()
    const found = await readEpoch(database, number)
    // Another epoch may have begun that this server has not noticed.
    const isSettled = asked !== undefined && (number === asked ? found?.lastSeq === undefined : number < asked)
    if (found !== undefined && isSettled && asked === keptIn && kept.size < MAX_KEPT) kept.set(number, found)
    return found
  }
  const enter = (): void => {
    const now = current()
    if (now !== keptIn) kept.clear()
    keptIn = now
  }
  return {
    of(number) {
      enter()
      return kept.get(number) ?? read(number)
    },
  }
}
