/** Prepares the changes of a transaction: their content is complete and checked before the database is asked. */
import type { WriteGuard } from '../../storage/service.ts'
import { interactionAbout, type PreparedChange } from '../interactions/change.ts'
import type { Located } from './located-entry.ts'
import type { ResolvedBodies } from './resolve.ts'
import type { TransactionRun } from './transaction-run.ts'

export interface PreparedEntry {
  readonly one: Located
  readonly prepared: PreparedChange
}

const prepareEntry = async (
  { parts, view, ctx }: TransactionRun,
  one: Located,
  { bodies }: ResolvedBodies,
): Promise<PreparedChange> => {
  const { prepareWrite } = parts
  const { entry, addressed } = one.step
  const { kind, type = '' } = addressed.interaction
  const { id, found } = one.target
  const isWritten = kind === 'create' ? found === undefined : kind === 'update'
  const given = bodies.get(entry.index)
  const address = { type, id: kind === 'create' ? undefined : id, guard: one.guard }
  const body = isWritten ? await prepareWrite.body(view, ctx, address, given) : given
  const ready = await addressed.prepare(one.guard as WriteGuard, one.target, body, one.ruling)
  if (ready.change !== undefined) return { ...ready, change: await prepareWrite.change(view, ctx, ready.change) }
  if (ready.changes === undefined) return ready
  return { ...ready, changes: await prepareWrite.changes(view, ctx, ready.changes) }
}

export const prepareEntries = async (
  run: TransactionRun,
  located: readonly Located[],
  resolved: ResolvedBodies,
): Promise<readonly PreparedEntry[]> => {
  const entries: PreparedEntry[] = []
  for (const one of located) {
    const interaction = interactionAbout(one.step.addressed, one.target)
    const prepared = await run.refusals.atEntry(one.step.entry.index, interaction, () =>
      prepareEntry(run, one, resolved),
    )
    entries.push({ one, prepared })
    await run.breathe()
  }
  return entries
}
