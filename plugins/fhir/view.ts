/** What is there to see: of what is committed, or of what a transaction sees. Every interaction is performed on one. */
import type { Runners } from '../../kernel/index.ts'
import type { Transaction } from '../database/service.ts'
import type { AccessEvaluator, SearchReads } from '../search/service.ts'
import type { VersionStore } from '../storage/service.ts'

export interface View {
  /** Set where all is read inside of one. */
  readonly transaction: Transaction | undefined
  /** Who rules and who is told. */
  readonly run: Runners
  readonly reads: Pick<VersionStore, 'read' | 'vread' | 'history' | 'within' | 'lock' | 'advisoryLock'>
  readonly search: SearchReads
  readonly access: AccessEvaluator
}

/** What is told of a read in a transaction belongs to it: whoever keeps it cannot open another one there. */
const telling = (run: Runners, transaction: Transaction): Runners => {
  const { onAudit } = run
  return onAudit === null ? run : { ...run, onAudit: (fact) => onAudit({ ...fact, transaction }) }
}

/** The view of one transaction: what is read is what was written there. */
export const inside = ({ run, reads, search, access }: View, transaction: Transaction): View => ({
  transaction,
  run: telling(run, transaction),
  reads: reads.within(transaction),
  search: search.inside(transaction),
  access: access.inside(transaction),
})

/** The same, ruled on by others or told to others. */
export const withRun = (view: View, run: Partial<Runners>): View => ({ ...view, run: { ...view.run, ...run } })
