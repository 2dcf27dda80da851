/**
 * transaction: performs all entries or none, in one transaction of the database, in the order of R4.
 * https://hl7.org/fhir/R4/http.html#trules
 */

import { type Interaction, type Random, toServerError } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import {
  type Changed,
  type CurrentChange,
  isLongWrite,
  type WriteGuard,
  type WritePath,
} from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { authorize, emitRefused } from '../dispatch.ts'
import type { Answer } from '../interactions/answer.ts'
import {
  emitOperation,
  interactionAbout,
  isContention,
  type PreparedChange,
  type RetryParts,
  retryOnContention,
} from '../interactions/change.ts'
import type { GuardChange } from '../interactions/guard-change.ts'
import type { Interactions } from '../interactions/interactions.ts'
import type { PrepareWrite } from '../large/prepare-write.ts'
import { inside, type View } from '../view.ts'
import { answeredEntry, createAnswerEntries } from './answer.ts'
import type { PerformBundle } from './batch.ts'
import { type BundleEntry, isRefused, type RefusedEntry } from './bundle-request.ts'
import { toBody } from './entry-body.ts'
import { issuesOfEntry, issuesOfRefusal } from './entry-error.ts'
import {
  type EntryInteraction,
  type EntryRequest,
  toEntryInteraction,
  toInteractionRequest,
} from './entry-interaction.ts'
import { inHoldOrder, inOrder, isDeletion, namesOf } from './entry-order.ts'
import { DuplicateTarget } from './errors.ts'
import type { Located, Ruled } from './located-entry.ts'
import { refuseEntry } from './refuse-entry.ts'
import { type ResolveParts, resolveReferences } from './resolve.ts'
import { createYield } from './yield.ts'

interface ReadingEntry extends Ruled {
  readonly step: Extract<EntryInteraction, { kind: 'read' }>
}

const isChange = (one: Ruled): one is Omit<Located, 'target'> => one.step.kind === 'change'
const isRead = (one: Ruled): one is ReadingEntry => one.step.kind === 'read'

/** The error with the place of its entry. Contended stays as it is, because it only causes a retry. */
const placed = (error: unknown, index: number): unknown => {
  if (isContention(error)) return error
  const known = toServerError(error)
  return known.with({ issues: issuesOfEntry(known, index) })
}

export interface TransactionParts extends RetryParts, ResolveParts {
  readonly interactions: Interactions
  readonly write: WritePath
  readonly random: Random
  readonly guardChange: GuardChange
  readonly prepareWrite: PrepareWrite
  readonly audit: Pick<AuditDetails, 'of'>
}

export const createTransaction =
  (parts: TransactionParts): PerformBundle =>
  async (view, ctx, { entries }, headers) => {
    const { interactions, database, write, guardChange, prepareWrite, audit } = parts
    const { run } = view
    const breathe = createYield(ctx)

    /** Emits the fact that an entry is refused, then throws the error with the place of the entry. */
    const refuse = async (index: number, interaction: Interaction, error: unknown): Promise<never> => {
      if (!isContention(error)) await emitRefused(run, ctx, interaction, error)
      throw placed(error, index)
    }
    /** Like `refuse`, before the interaction of the entry is known. */
    const refuseUnknown = async (
      entry: BundleEntry | RefusedEntry,
      error: unknown,
      named?: Interaction | undefined,
    ): Promise<never> => {
      throw placed(await refuseEntry(run, ctx, entry, toServerError(error), named), entry.index)
    }
    /** Runs `work`, which reads an entry. When it throws, the entry is refused. */
    const readAt = <T>(
      entry: BundleEntry,
      work: () => T,
      named?: () => Interaction | undefined,
    ): T | Promise<never> => {
      try {
        return work()
      } catch (error) {
        return refuseUnknown(entry, error, named?.())
      }
    }
    /**
     * Performs one step of an entry. When it fails, the entry is refused. Returns a promise only then, or when the step
     * is asynchronous.
     */
    const atEntry = <T>(index: number, interaction: Interaction, work: () => T | Promise<T>): T | Promise<T> => {
      try {
        const done = work()
        return done instanceof Promise ? done.catch((error) => refuse(index, interaction, error)) : done
      } catch (error) {
        return refuse(index, interaction, error)
      }
    }

    const tell = async (here: View, interaction: Interaction, answer: Answer): Promise<void> => {
      const { status, version, details = audit.of(here.run, version, ctx.ownUrl) } = answer
      await here.run.onAudit?.({ request: ctx, interaction, status, version: version?.version, details })
    }

    /** Authorizes an entry. All entries are authorized before any is performed. */
    const rule = async (asking: EntryRequest): Promise<Ruled> => {
      const { index } = asking.entry
      const named = (): Interaction | undefined => interactions.named(asking.name, asking.request)
      const step = await readAt(asking.entry, () => toEntryInteraction(interactions, view, asking), named)
      const { interaction } = step.addressed
      return atEntry(index, interaction, async () => {
        const ruling = await authorize(run, ctx, interaction)
        if (step.kind !== 'change') return { step, ruling, guard: undefined }
        return { step, ruling, guard: await guardChange(view, ctx, ruling, interaction) }
      })
    }

    const asked: EntryRequest[] = []
    for (const entry of entries) {
      if (isRefused(entry)) return refuseUnknown(entry, entry.error)
      asked.push(await readAt(entry, () => toInteractionRequest(ctx, entry, headers)))
      await breathe()
    }
    const deleted = asked.flatMap(({ entry, request: { params } }) =>
      entry.method === 'DELETE' ? [`${params.type}/${params.id}`] : [],
    )
    /** `Type/id` of what this transaction deletes. Matches of conditional deletions are added once they are located. */
    const gone = new Set<string>()
    const ruled: Ruled[] = []
    for (const one of asked) {
      const { text, resource } = one.entry
      const body = one.name === 'operation' && text !== undefined ? toBody(text, resource) : undefined
      ruled.push(await rule({ ...one, request: { ...one.request, gone, body } }))
      await breathe()
    }
    const changes = ruled.filter(isChange)
    const looks = ruled.filter(isRead)

    const locate = async (one: Omit<Located, 'target'>): Promise<Located> => {
      const { entry, addressed } = one.step
      const body = { text: entry.text ?? '', resource: entry.resource ?? {}, members: [] }
      return { ...one, target: await atEntry(entry.index, addressed.interaction, () => addressed.locate(body)) }
    }
    const locateAll = async (): Promise<readonly Located[]> => {
      const located: Located[] = []
      gone.clear()
      for (const name of deleted) gone.add(name)
      const locateSome = async (some: readonly Omit<Located, 'target'>[]): Promise<void> => {
        for (const one of some) {
          located.push(await locate(one))
          await breathe()
        }
      }
      await locateSome(changes.filter(isDeletion))
      // R4 performs deletions first, so the conditions of other entries do not match deleted resources.
      for (const one of located) for (const name of namesOf(one)) gone.add(name)
      await locateSome(changes.filter((one) => !isDeletion(one)))
      return located.sort(inOrder)
    }
    /** R4: a transaction fails when two entries change the same resource. */
    const checkOverlap = async (located: readonly Located[]): Promise<void> => {
      const seen = new Set<string>()
      for (const one of located) {
        const { step, target } = one
        // A conditional deletion without a match, or a create whose condition found a resource: it changes nothing.
        if (target.id === '' || (step.name === 'create' && target.found !== undefined)) continue
        for (const name of namesOf(one)) {
          if (seen.has(name))
            await refuse(step.entry.index, interactionAbout(step.addressed, target), DuplicateTarget(name))
          seen.add(name)
        }
      }
    }

    let attempts = 0
    return retryOnContention(parts, async () => {
      attempts += 1
      const located = await locateAll()
      await checkOverlap(located)
      const resolved = await resolveReferences(parts, view, ctx, located, attempts > 1)
      const prepared: { readonly one: Located; readonly prepared: PreparedChange }[] = []
      for (const one of located) {
        const { entry, addressed } = one.step
        const { kind, type = '' } = addressed.interaction
        const prepare = async (): Promise<PreparedChange> => {
          const { id, found } = one.target
          const isWritten = kind === 'create' ? found === undefined : kind === 'update'
          const given = resolved.bodies.get(entry.index)
          const address = { type, id: kind === 'create' ? undefined : id, guard: one.guard }
          const body = isWritten ? await prepareWrite.body(view, ctx, address, given) : given
          const ready = await addressed.prepare(one.guard as WriteGuard, one.target, body, one.ruling)
          if (ready.change !== undefined)
            return { ...ready, change: await prepareWrite.change(view, ctx, ready.change) }
          return ready.changes === undefined
            ? ready
            : { ...ready, changes: await prepareWrite.changes(view, ctx, ready.changes) }
        }
        prepared.push({ one, prepared: await atEntry(entry.index, interactionAbout(addressed, one.target), prepare) })
        await breathe()
      }

      const progress: CurrentChange = { interaction: undefined }
      const answers = createAnswerEntries(entries.length)
      const answered = ({ entry }: EntryInteraction, answer: Answer): void =>
        answers.set(entry.index, answeredEntry(ctx, entry, answer))

      const changeAll = async (opened: Transaction, here: View): Promise<readonly Changed[]> => {
        const changed: Changed[] = []
        for (const { one, prepared: ready } of prepared) {
          progress.interaction = interactionAbout(one.step.addressed, one.target)
          if (ready.change === undefined && ready.changes !== undefined) {
            const made: Changed[] = []
            for (const change of ready.changes) made.push(await write.apply(opened, change))
            changed.push(...made)
            const answer = ready.answerAll(made)
            answered(one.step, answer)
            await emitOperation(here, ctx, progress.interaction, ready.changes, answer, opened)
          } else if (ready.change === undefined) {
            await tell(here, progress.interaction, ready.settled)
            answered(one.step, ready.settled)
          } else {
            const applied = write.apply(opened, ready.change)
            const made = applied instanceof Promise ? await applied : applied
            changed.push(made)
            answered(one.step, ready.answer(made))
          }
          await breathe()
        }
        await write.complete(ctx, opened, changed, issuesOfRefusal, progress)
        return changed
      }
      const lookAll = async (here: View): Promise<void> => {
        for (const { step, ruling } of looks) {
          const { interaction, answer } = step.addressed
          progress.interaction = interaction
          const found = await answer(here, ruling)
          await tell(here, interaction, found)
          answered(step, found)
          await breathe()
        }
      }
      /** Two entries whose conditions found nothing must not both create a match for the same condition. */
      const confirmAll = async (here: View): Promise<void> => {
        const byType = Map.groupBy(located, ({ step }) => step.addressed.interaction.type)
        for (const { step, target } of located) {
          const { interaction } = step.addressed
          if (target.confirm === undefined || byType.get(interaction.type)?.length === 1) continue
          progress.interaction = interaction
          await target.confirm(here)
        }
      }
      /** Discards the answers of an earlier attempt, because the database may run a transaction again. */
      const perform = (opened: Transaction): Promise<readonly Changed[]> => {
        answers.clear()
        progress.interaction = undefined
        return performAll(opened, inside(view, opened))
      }
      const performAll = async (opened: Transaction, here: View): Promise<readonly Changed[]> => {
        for (const { target } of prepared.map(({ one }) => one).sort(inHoldOrder)) await target.verify?.(here, opened)
        await resolved.verify(here)
        const changed = await changeAll(opened, here)
        await confirmAll(here)
        await lookAll(here)
        progress.interaction = undefined
        await tell(here, { kind: 'transaction' }, { status: 200, shows: 'nothing' })
        return changed
      }
      const written = prepared.flatMap(({ prepared: one }) =>
        one.change !== undefined ? one.change : (one.changes ?? []),
      )
      const isLong = isLongWrite(written, looks.length)
      const changed = await database.transact(perform, { isLong }).catch(async (error) => {
        const { interaction } = progress
        if (interaction?.entry === undefined || isContention(error)) throw error
        await emitRefused(run, ctx, interaction, error)
        throw placed(error, interaction.entry)
      })
      const later = write.committed(changed)
      if (later !== undefined) await later
      return answers.toBundle(parts.random.id(), 'transaction')
    })
  }
