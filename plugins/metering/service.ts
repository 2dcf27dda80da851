/** What other plugins may read of the usage that is counted. */
import { defineService } from '../../kernel/index.ts'
import type { UsageTotals } from './usage-totals.ts'

export type { UsageSum, UsageTotals } from './usage-totals.ts'

export interface Metering {
  /** Resolves when the counts of this server are in the database. */
  flush(): Promise<void>
  readonly totals: UsageTotals
}

export const Metering = defineService<Metering>('metering')
