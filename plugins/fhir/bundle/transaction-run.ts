/** What the steps of one transaction share. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Random, RequestContext } from '../../../kernel/index.ts'
import type { WritePath } from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import type { Capabilities } from '../interactions/capabilities.ts'
import type { RetryParts } from '../interactions/change.ts'
import type { GuardChange } from '../interactions/guard-change.ts'
import type { Interactions } from '../interactions/interactions.ts'
import type { PrepareWrite } from '../large/prepare-write.ts'
import type { View } from '../view.ts'
import type { createAnswerEntries } from './answer.ts'
import type { EntryRefusals } from './entry-refusals.ts'
import type { ResolveParts } from './resolve.ts'

export interface TransactionParts extends RetryParts, ResolveParts {
  readonly interactions: Interactions
  readonly capabilities: Capabilities
  readonly write: WritePath
  readonly random: Random
  readonly guardChange: GuardChange
  readonly prepareWrite: PrepareWrite
  readonly audit: Pick<AuditDetails, 'of'>
}

export interface TransactionRun {
  readonly parts: TransactionParts
  readonly view: View
  readonly ctx: RequestContext
  readonly headers: IncomingHttpHeaders
  readonly refusals: EntryRefusals
  /** The entries of the answer, by index. */
  readonly answers: ReturnType<typeof createAnswerEntries>
  /** Awaited after each entry, so that other requests run. Throws ClientDisconnected. */
  readonly breathe: () => Promise<void> | undefined
}
