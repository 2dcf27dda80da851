/** Statements of a transaction that have no result and are not sent yet. */
import type { Sql, SqlParam } from '../contract.ts'
import type { BoundStatement } from './statement-group.ts'

export const MAX_STEPS = 500 // statements held back at most
// of statements held back; then they are sent, so that a large import does not use much memory
export const MAX_BYTES = 1024 * 1024

export interface HeldStatements {
  readonly steps: readonly BoundStatement[]
  /** Size of their parameters; those that it was created with do not count. */
  readonly bytes: number
  /** Whether they have to be sent, so that no more memory is used. */
  readonly isFull: boolean
  add(statement: Sql, params: readonly SqlParam[]): void
  /** Returns them, and holds none any more. */
  take(): readonly BoundStatement[]
}

export const createHeldStatements = (first: readonly BoundStatement[]): HeldStatements => {
  let steps: BoundStatement[] = [...first]
  let bytes = 0
  return {
    get steps() {
      return steps
    },
    get bytes() {
      return bytes
    },
    get isFull() {
      return steps.length >= MAX_STEPS || bytes >= MAX_BYTES
    },
    add(statement, params) {
      steps.push({ statement, params })
      for (const param of params) bytes += param === null || typeof param === 'number' ? 8 : param.length
    },
    take() {
      const taken = steps
      steps = []
      bytes = 0
      return taken
    },
  }
}
