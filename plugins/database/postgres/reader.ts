/**
 * Small reads. Each takes an idle session if there is one. While all are busy, reads wait, and a session that becomes
 * free takes many of them in one round trip. So eight sessions serve hundreds of readers.
 */

import type { Sql, SqlParam } from '../contract.ts'
import { DatabaseUnavailable } from '../errors.ts'
import { PoolExhausted } from './errors.ts'
import { fromPostgres, isLost } from './failure.ts'
import type { Lease } from './loan.ts'
import type { Pool } from './pool.ts'

const MAX_TOGETHER = 16 // with more, the first one waits long for the last one

export interface ReaderOptions {
  readonly pool: Pool
  /** Reads that may wait; the next one is refused at once. */
  readonly queue: number
  /** Milliseconds in which the server must answer; then the session is closed. */
  readonly answerMs: number
}

export interface Reader {
  all(statement: Sql, params: readonly SqlParam[]): Promise<Record<string, unknown>[]>
  readonly waiting: number
}

interface Read {
  readonly statement: Sql
  readonly params: readonly SqlParam[]
  readonly resolve: (rows: Record<string, unknown>[]) => void
  readonly reject: (error: unknown) => void
  /**
   * True for the second and last attempt: a session may have been lost while it was idle, and the read is then retried
   * once.
   */
  readonly isSecond: boolean
}

export const createPostgresReader = ({ pool, queue, answerMs }: ReaderOptions): Reader => {
  const waiting: Read[] = []
  let asking = 0

  const serve = (lease: Lease, reads: readonly Read[]): void => {
    let open = reads.length
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      lease.session.destroy()
      pool.flush()
    }, answerMs)
    const done = (): void => {
      open -= 1
      if (open > 0) return
      clearTimeout(timer)
      // If other borrowers wait for a session, it is released to them.
      const next = pool.status.waiting > 0 || !lease.session.isUsable ? [] : waiting.splice(0, MAX_TOGETHER)
      if (next.length > 0) serve(lease, next)
      else {
        lease.release()
        pump()
      }
    }
    const fail = (read: Read, error: unknown): void => {
      if (isLost(error) && !isLate && !read.isSecond) {
        waiting.push({ ...read, isSecond: true })
        return
      }
      read.reject(isLate ? DatabaseUnavailable().with({ detail: `no answer in ${answerMs} ms` }) : fromPostgres(error))
    }
    lease.session.exchanges.run(
      reads.map((read) => ({
        steps: [read],
        settle: (results) => {
          read.resolve(results[0]!.rows)
          done()
        },
        fail: (error) => {
          fail(read, error)
          done()
        },
      })),
    )
  }
  /** Acquires as many sessions as the waiting reads can fill. */
  const pump = (): void => {
    for (let lease = waiting.length > 0 ? pool.tryAcquire() : undefined; lease !== undefined; ) {
      serve(lease, waiting.splice(0, 1))
      lease = waiting.length > 0 ? pool.tryAcquire() : undefined
    }
    while (asking < Math.ceil(waiting.length / MAX_TOGETHER) && asking < pool.status.size) {
      asking += 1
      pool.acquire().then(
        (lease) => {
          asking -= 1
          const reads = waiting.splice(0, MAX_TOGETHER)
          if (reads.length === 0) lease.release()
          else serve(lease, reads)
        },
        (error) => {
          asking -= 1
          // After too long a wait only the oldest reads are refused, and not later ones.
          const refused = error.key === PoolExhausted.key ? waiting.splice(0, MAX_TOGETHER) : waiting.splice(0)
          for (const read of refused) read.reject(error)
          pump()
        },
      )
    }
  }
  return {
    all(statement, params) {
      if (waiting.length >= queue) return Promise.reject(PoolExhausted())
      return new Promise((resolve, reject) => {
        const read = { statement, params, resolve, reject, isSecond: false }
        const lease = waiting.length === 0 ? pool.tryAcquire() : undefined
        if (lease !== undefined) return serve(lease, [read])
        waiting.push(read)
        pump()
      })
    },
    get waiting() {
      return waiting.length
    },
  }
}
