/** Statements that are sent together, and their results. */
import type { Sql, SqlParam } from '../contract.ts'

export interface BoundStatement {
  readonly statement: Sql
  readonly params: readonly SqlParam[]
}

export interface StatementResult {
  readonly rows: Record<string, unknown>[]
  /** `INSERT 0 1`, `COMMIT`, … */
  readonly tag: string
}

/** Statements that succeed or fail together. Exactly one of the two is called, once. */
export interface StatementGroup {
  readonly steps: readonly BoundStatement[]
  settle(results: readonly StatementResult[]): void
  fail(error: unknown): void
}
