/**
 * transaction: performs all entries or none, in one transaction of the database, in the order of R4.
 * https://hl7.org/fhir/R4/http.html#trules
 */
import { isServerError } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import type { Changed, CurrentChange } from '../../storage/service.ts'
import { isLongWrite } from '../../storage/service.ts'
import { changesOf, isContention, retryOnContention } from '../interactions/change.ts'
import { createAnswerEntries } from './answer.ts'
import type { BesideBundle, PerformBundle } from './batch.ts'
import { createEntryRefusals } from './entry-refusals.ts'
import { locateEntries } from './locate-entries.ts'
import { isRead, type PerformableEntries, performEntries, performReads } from './perform-entries.ts'
import { prepareEntries } from './prepare-entries.ts'
import { resolveReferences } from './resolve.ts'
import { ruleEntries } from './rule-entries.ts'
import type { TransactionParts, TransactionRun } from './transaction-run.ts'
import { createYield } from './yield.ts'

const perform = async (
  run: TransactionRun,
  entries: PerformableEntries,
  beside: BesideBundle | undefined,
): Promise<readonly Changed[]> => {
  const { database } = run.parts
  const written = entries.prepared.flatMap(({ prepared }) => changesOf(prepared))
  const isLong = isLongWrite(written, entries.reads.length)
  const progress: CurrentChange = { interaction: undefined }
  // On PostgreSQL each statement of another transaction sees what was committed before it. SQLite commits in one line.
  const onlyReads = database.kind === 'postgres' && entries.located.length === 0 && beside === undefined
  try {
    if (onlyReads) {
      await database.reading((opened) => performReads(run, opened, entries.reads, progress))
      return []
    }
    const work = async (opened: Transaction): Promise<readonly Changed[]> => {
      const changed = await performEntries(run, opened, entries, progress)
      await beside?.(opened)
      return changed
    }
    return await database.transact(work, { isLong, readsMayWait: run.view.readsMayWait === true })
  } catch (error) {
    // The cause may be a conditional reference whose match has changed since it was resolved. `verify` then throws a contention
    // error, and the caller repeats the transaction. After a 5xx it is not repeated: it may have been committed.
    if (isServerError(error) && error.status < 500 && !isContention(error)) await entries.resolved.verify(run.view)
    const { interaction } = progress
    if (interaction?.entry === undefined || isContention(error)) throw error
    return run.refusals.refuse(interaction.entry, interaction, error)
  }
}

export const createTransaction =
  (parts: TransactionParts): PerformBundle =>
  async (view, ctx, bundle, headers, beside) => {
    const run: TransactionRun = {
      parts,
      view,
      ctx,
      headers,
      refusals: createEntryRefusals(view.run, ctx),
      answers: createAnswerEntries(bundle.entries.length),
      breathe: createYield(ctx),
    }
    const entries = await ruleEntries(run, bundle)
    const reads = entries.ruled.filter(isRead)
    let attempts = 0
    return retryOnContention(parts, async () => {
      attempts += 1
      const located = await locateEntries(run, entries)
      const resolved = await resolveReferences(parts, view, ctx, located, attempts > 1)
      const prepared = await prepareEntries(run, located, resolved)
      const changed = await perform(run, { located, prepared, resolved, reads }, beside)
      const later = parts.write.committed(changed)
      if (later !== undefined) await later
      return run.answers.toBundle(parts.random.id(), 'transaction')
    })
  }
