/** Performs the entries of a transaction inside a transaction of the database. */
import type { Interaction } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import type { Changed, CurrentChange } from '../../storage/service.ts'
import type { Answer } from '../interactions/answer.ts'
import { changesOf, emitOperation, interactionAbout } from '../interactions/change.ts'
import { type LockedTarget, lockTargets } from '../interactions/lock-targets.ts'
import { inside, insideReading, type View } from '../view.ts'
import { answeredEntry } from './answer.ts'
import { issuesOfRefusal } from './entry-error.ts'
import type { EntryInteraction } from './entry-interaction.ts'
import type { Located, Ruled } from './located-entry.ts'
import type { PreparedEntry } from './prepare-entries.ts'
import type { ResolvedBodies } from './resolve.ts'
import type { TransactionRun } from './transaction-run.ts'

interface ReadingEntry extends Ruled {
  readonly step: Extract<EntryInteraction, { kind: 'read' }>
}

export const isRead = (one: Ruled): one is ReadingEntry => one.step.kind === 'read'

export interface PerformableEntries {
  readonly located: readonly Located[]
  readonly prepared: readonly PreparedEntry[]
  readonly resolved: ResolvedBodies
  readonly reads: readonly ReadingEntry[]
}

const emit = async (run: TransactionRun, here: View, interaction: Interaction, answer: Answer): Promise<void> => {
  const { parts, ctx } = run
  const { status, version, details = parts.audit.of(here.run, version, ctx.ownUrl) } = answer
  await here.run.onAudit?.({ request: ctx, interaction, status, version: version?.version, details })
}

const answered = ({ ctx, answers }: TransactionRun, { entry }: EntryInteraction, answer: Answer): void =>
  answers.set(entry.index, answeredEntry(ctx, entry, answer))

/** Performs one change, and answers its entry. */
const changeEntry = async (
  run: TransactionRun,
  opened: Transaction,
  here: View,
  { one: { step, target }, prepared: ready }: PreparedEntry,
): Promise<readonly Changed[]> => {
  const { write } = run.parts
  const interaction = interactionAbout(step.addressed, target)
  if (ready.change !== undefined) {
    const applied = write.apply(opened, ready.change)
    const made = applied instanceof Promise ? await applied : applied
    answered(run, step, ready.answer(made))
    return [made]
  }
  if (ready.changes === undefined) {
    await emit(run, here, interaction, ready.settled)
    answered(run, step, ready.settled)
    return []
  }
  const made: Changed[] = []
  for (const change of ready.changes) made.push(await write.apply(opened, change))
  const answer = ready.answerAll(made)
  answered(run, step, answer)
  await emitOperation(here, run.ctx, interaction, ready.changes, answer, opened)
  return made
}

const changeAll = async (
  run: TransactionRun,
  opened: Transaction,
  here: View,
  prepared: readonly PreparedEntry[],
  progress: CurrentChange,
): Promise<readonly Changed[]> => {
  const changed: Changed[] = []
  for (const entry of prepared) {
    progress.interaction = interactionAbout(entry.one.step.addressed, entry.one.target)
    for (const made of await changeEntry(run, opened, here, entry)) changed.push(made)
    await run.breathe()
  }
  await run.parts.write.complete(run.ctx, opened, changed, issuesOfRefusal, progress)
  return changed
}

const readAll = async (
  run: TransactionRun,
  here: View,
  reads: readonly ReadingEntry[],
  progress: CurrentChange,
): Promise<void> => {
  for (const { step, ruling } of reads) {
    const { interaction, answer } = step.addressed
    progress.interaction = interaction
    const found = await answer(here, ruling)
    await emit(run, here, interaction, found)
    answered(run, step, found)
    await run.breathe()
  }
}

/** Two entries whose conditions found nothing must not both create a match for the same condition. */
const confirmAll = async (
  here: View,
  located: readonly Located[],
  changed: readonly Changed[],
  progress: CurrentChange,
): Promise<void> => {
  const own = new Set(changed.map(({ version }) => `${version.type}/${version.id}`))
  const byType = Map.groupBy(located, ({ step }) => step.addressed.interaction.type)
  for (const { step, target } of located) {
    const { interaction } = step.addressed
    if (target.confirm === undefined || byType.get(interaction.type)?.length === 1) continue
    progress.interaction = interaction
    await target.confirm(here, own)
  }
}

const toLocked = ({ one: { step, target }, prepared }: PreparedEntry): LockedTarget => ({
  type: step.addressed.interaction.type ?? '',
  target,
  changes: changesOf(prepared),
})

/** Performs a transaction that only reads, in one snapshot. */
export const performReads = async (
  run: TransactionRun,
  opened: Transaction,
  reads: readonly ReadingEntry[],
  progress: CurrentChange,
): Promise<void> => {
  run.answers.clear()
  progress.interaction = undefined
  const here = insideReading(run.view, opened)
  await readAll(run, here, reads, progress)
  progress.interaction = undefined
  await emit(run, here, { kind: 'transaction' }, { status: 200, shows: 'nothing' })
}

/**
 * Performs all entries in `opened`. `progress` names the entry that is under way, for whoever reports its failure. The
 * answers of an earlier attempt are discarded, because the database may run a transaction again.
 */
export const performEntries = async (
  run: TransactionRun,
  opened: Transaction,
  { located, prepared, resolved, reads }: PerformableEntries,
  progress: CurrentChange,
): Promise<readonly Changed[]> => {
  run.answers.clear()
  progress.interaction = undefined
  const here = inside(run.view, opened)
  await lockTargets(here, opened, prepared.map(toLocked))
  await resolved.verify(here)
  const changed = await changeAll(run, opened, here, prepared, progress)
  await confirmAll(here, located, changed, progress)
  await readAll(run, here, reads, progress)
  progress.interaction = undefined
  await emit(run, here, { kind: 'transaction' }, { status: 200, shows: 'nothing' })
  return changed
}
