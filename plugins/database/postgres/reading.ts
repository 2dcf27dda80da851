/**
 * Reads in one snapshot. It is taken by the first statement, so nothing is held before that. Of the sessions at most half
 * are lent for it: work in a snapshot may itself need a session for something else.
 */
import { type Database, sql } from '../contract.ts'
import { PoolExhausted } from './errors.ts'
import { fromPostgres } from './failure.ts'
import { openTransaction } from './open-transaction.ts'
import type { Pool } from './pool.ts'
import type { RunGroup } from './run-group.ts'

const beginning = sql('begin-reading', 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')

export interface ReadingParts {
  readonly pool: Pool
  readonly send: RunGroup
  /** Readings at a time. */
  readonly most: number
  /** Readings that may wait; the next one is refused at once. */
  readonly queue: number
  /** Milliseconds that one waits. */
  readonly waitMs: number
}

/** Lets so many through at a time, in the order of their arrival. */
const createPlaces = ({ most, queue, waitMs }: Pick<ReadingParts, 'most' | 'queue' | 'waitMs'>) => {
  const waiting: (() => void)[] = []
  let taken = 0
  return {
    take(): Promise<void> | undefined {
      if (taken < most) {
        taken += 1
        return undefined
      }
      if (waiting.length >= queue) throw PoolExhausted()
      return new Promise((resolve, reject) => {
        const pass = (): void => {
          clearTimeout(late)
          resolve()
        }
        const late = setTimeout(() => {
          waiting.splice(waiting.indexOf(pass), 1)
          reject(PoolExhausted())
        }, waitMs)
        waiting.push(pass)
      })
    },
    leave(): void {
      const next = waiting.shift()
      if (next === undefined) taken -= 1
      else next()
    },
  }
}

export const createReading = ({ pool, send, ...limits }: ReadingParts): Database['reading'] => {
  const places = createPlaces(limits)
  const acquire = () => pool.tryAcquire({ long: true }) ?? pool.acquire({ long: true })
  return async (work) => {
    await places.take()
    const open = openTransaction({ acquire, send, beginning })
    try {
      const value = await work(open.transaction)
      await open.commit()
      open.release()
      return value
    } catch (error) {
      await open.rollback()
      throw fromPostgres(error)
    } finally {
      places.leave()
    }
  }
}
