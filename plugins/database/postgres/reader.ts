/**
 * Small reads. Each takes an idle session at once; while all are busy reads gather, and whichever session comes free
 * takes many of them in one round trip. So eight sessions serve hundreds of readers.
 */

import type { Param, Sql } from '../contract.ts'
import { DatabaseUnavailable } from '../errors.ts'
import { PoolExhausted } from './errors.ts'
import { fromPostgres, isLost } from './failure.ts'
import type { Loan } from './loan.ts'
import type { Pool } from './pool.ts'

const MOST_TOGETHER = 16 // more would make the first wait for the last

export interface ReaderOptions {
  readonly pool: Pool
  /** Reads that may wait; the next one is refused at once. */
  readonly queue: number
  /** The server must answer within; then the session is given up. */
  readonly answerMs: number
}

export interface Reader {
  all(statement: Sql, params: readonly Param[]): Promise<Record<string, unknown>[]>
  readonly waiting: number
}

interface Read {
  readonly statement: Sql
  readonly params: readonly Param[]
  readonly resolve: (rows: Record<string, unknown>[]) => void
  readonly reject: (error: unknown) => void
  /** A session may have been lost while it lay idle: that is worth a second attempt, once. */
  readonly isSecond: boolean
}

export const createReader = ({ pool, queue, answerMs }: ReaderOptions): Reader => {
  const waiting: Read[] = []
  let asking = 0

  const serve = (loan: Loan, reads: readonly Read[]): void => {
    let open = reads.length
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      loan.session.destroy()
      pool.flush()
    }, answerMs)
    const done = (): void => {
      open -= 1
      if (open > 0) return
      clearTimeout(timer)
      // Someone else may have waited longer.
      const next = pool.status.waiting > 0 || !loan.session.isUsable ? [] : waiting.splice(0, MOST_TOGETHER)
      if (next.length > 0) serve(loan, next)
      else {
        loan.release()
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
    loan.session.exchanges.run(
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
  /** Asks for as many sessions as the reads that wait can fill. */
  const pump = (): void => {
    for (let loan = waiting.length > 0 ? pool.take() : undefined; loan !== undefined; ) {
      serve(loan, waiting.splice(0, 1))
      loan = waiting.length > 0 ? pool.take() : undefined
    }
    while (asking < Math.ceil(waiting.length / MOST_TOGETHER) && asking < pool.status.size) {
      asking += 1
      pool.acquire().then(
        (loan) => {
          asking -= 1
          const reads = waiting.splice(0, MOST_TOGETHER)
          if (reads.length === 0) loan.release()
          else serve(loan, reads)
        },
        (error) => {
          asking -= 1
          // Refused for having waited too long: those that came later have not.
          const refused = error.key === PoolExhausted.key ? waiting.splice(0, MOST_TOGETHER) : waiting.splice(0)
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
        const loan = waiting.length === 0 ? pool.take() : undefined
        if (loan !== undefined) return serve(loan, [read])
        waiting.push(read)
        pump()
      })
    },
    get waiting() {
      return waiting.length
    },
  }
}
