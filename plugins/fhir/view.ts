/**
 * What an interaction sees: the committed data, or the data inside a transaction. Every interaction is performed on a
 * view.
 */
import type { Runners } from '../../kernel/index.ts'
import type { Transaction } from '../database/service.ts'
import type { AccessEvaluator, SearchReads } from '../search/service.ts'
import type { VersionStore } from '../storage/service.ts'

export interface View {
  /** The transaction in which everything is read; undefined for committed data. */
  readonly transaction: Transaction | undefined
  /** Runners of the hooks that authorize and audit interactions. */
  readonly run: Runners
  readonly reads: Pick<
    VersionStore,
    | 'read'
    | 'vread'
    | 'history'
    | 'firstNumber'
    | 'isCurrent'
    | 'within'
    | 'hasOneWriter'
    | 'lock'
    | 'lockAll'
    | 'advisoryLock'
  >
  readonly search: SearchReads
  readonly access: AccessEvaluator
  /** Set where an update creates a missing resource under its id, whatever the setting [conformance] update_as_create. */
  readonly updateAsCreate?: true | undefined
  /** Set where searches may wait longer for what is written: `TransactOptions.readsMayWait`. */
  readonly readsMayWait?: true | undefined
}

/**
 * Adds the transaction to the facts of reads in it. A plugin that stores a fact must use that transaction, because it
 * cannot open another one meanwhile.
 */
const emitting = (run: Runners, transaction: Transaction): Runners => {
  const { onAudit } = run
  return onAudit === null ? run : { ...run, onAudit: (fact) => onAudit({ ...fact, transaction }) }
}

/** The view inside a transaction: reads see what was written there. */
export const inside = ({ run, reads, search, access, updateAsCreate }: View, transaction: Transaction): View => ({
  transaction,
  updateAsCreate,
  run: emitting(run, transaction),
  reads: reads.within(transaction),
  search: search.inside(transaction),
  access: access.inside(transaction),
})

/**
 * The view of one snapshot, in which nothing is written: facts of reads do not join it, as it stores nothing. `transaction` is
 * that of `Database.reading`.
 */
export const insideReading = (view: View, transaction: Transaction): View => ({
  ...inside(view, transaction),
  run: view.run,
})

/** The same view with other authorization or auditing. */
export const withRun = (view: View, run: Partial<Runners>): View => ({ ...view, run: { ...view.run, ...run } })
