/**
 * transaction: all entries or none, in one transaction of the database, in the order that R4 lays down.
 * https://hl7.org/fhir/R4/http.html#trules
 */
import type { IncomingHttpHeaders } from 'node:http'
import { type Interaction, type RequestContext, type Ruling, toServerError } from '../../../kernel/index.ts'
import { andThen, type Transaction } from '../../database/service.ts'
import { refused, ruleOn } from '../dispatch.ts'
import type { Answer } from '../interactions/answer.ts'
import { isContended, type Prepared, type Target, tellOperation, untilUncontended } from '../interactions/change.ts'
import { permitChange } from '../owned.ts'
import { detailsOf } from '../patients.ts'
import type { Permit } from '../search/judge.ts'
import { type FhirServer, within } from '../server.ts'
import type { Changed, Progress } from '../store/change.ts'
import { answeredEntry, createAnswerEntries } from './answer.ts'
import { breathe } from './breathe.ts'
import { issuesOfEntry } from './entry-error.ts'
import { type Envelope, isRefused, RANK } from './envelope.ts'
import { DuplicateTarget } from './errors.ts'
import { resolveLinks } from './resolve.ts'
import { type AskedEntry, type Step, toAsked, toStep } from './step.ts'
import { toBody } from './text.ts'

/** An entry that is about to be performed. */
export interface Ruled {
  readonly step: Step
  readonly ruling: Ruling
  readonly permit: Permit | undefined
}

interface Looking extends Ruled {
  readonly step: Extract<Step, { kind: 'look' }>
}

/** A change whose resource is known. */
export interface Located extends Ruled {
  readonly step: Extract<Step, { kind: 'change' }>
  readonly target: Target
}

const isChange = (one: Ruled): one is Omit<Located, 'target'> => one.step.kind === 'change'
const isLook = (one: Ruled): one is Looking => one.step.kind === 'look'

const typeOf = ({ step }: Located): string => step.addressed.interaction.type ?? ''
const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
const byType = (one: Located, other: Located): number => byText(typeOf(one), typeOf(other))
const keyOf = (one: Located): string => `${typeOf(one)}/${one.target.id}`
/**
 * The order that R4 lays down. What is there already is taken in one order everywhere: transactions that take the same
 * resources crosswise would wait for each other without end.
 */
const inOrder = (one: Located, other: Located): number => {
  const rank = RANK[one.step.entry.method]
  return rank - RANK[other.step.entry.method] || (rank === RANK.POST ? 0 : byText(keyOf(one), keyOf(other)))
}

/** The error of an entry, with its place. Not for the signal to begin again. */
const placed = (error: unknown, index: number): unknown => {
  if (isContended(error)) return error
  const known = toServerError(error)
  return known.with({ issues: issuesOfEntry(known, index) })
}

export const transaction = async (
  server: FhirServer,
  ctx: RequestContext,
  { entries }: Envelope,
  headers: IncomingHttpHeaders,
): Promise<string> => {
  const { run, store, write } = server

  /** Told to the trail; names the entry. */
  const refuse = async (index: number, interaction: Interaction | undefined, error: unknown): Promise<never> => {
    if (interaction !== undefined && !isContended(error)) await refused(run, ctx, interaction, error)
    throw placed(error, index)
  }
  /** Does one step of an entry. A promise only where the step is one, or is refused. */
  const atEntry = <T>(
    index: number,
    interaction: Interaction | undefined,
    work: () => T | Promise<T>,
  ): T | Promise<T> => {
    try {
      const done = work()
      return done instanceof Promise ? done.catch((error) => refuse(index, interaction, error)) : done
    } catch (error) {
      return refuse(index, interaction, error)
    }
  }

  const tell = async (here: FhirServer, interaction: Interaction, answer: Answer): Promise<void> => {
    const { status, version, details = detailsOf(here, version) } = answer
    await here.run.onAudit?.({ request: ctx, interaction, status, version: version?.version, details })
  }

  /** Every entry is ruled on before anything is done for one of them. */
  const rule = async (asking: AskedEntry): Promise<Ruled> => {
    const { index } = asking.entry
    const step = await atEntry(index, undefined, () => toStep(server, asking))
    const { interaction } = step.addressed
    const given = (ruling: Ruling): Ruled | Promise<Ruled> => {
      if (step.kind !== 'change') return { step, ruling, permit: undefined }
      return andThen(permitChange(server, ctx, ruling, interaction), (permit) => ({ step, ruling, permit }))
    }
    return atEntry(index, interaction, () => andThen(ruleOn(run, ctx, interaction), given))
  }

  const asked: AskedEntry[] = []
  for (const entry of entries) {
    if (isRefused(entry)) throw placed(entry.error, entry.index)
    asked.push(await atEntry(entry.index, undefined, () => toAsked(ctx, entry, headers)))
  }
  const gone = new Set(
    asked.flatMap(({ entry, asked: { params } }) => (entry.method === 'DELETE' ? [`${params.type}/${params.id}`] : [])),
  )
  const ruled: Ruled[] = []
  for (const one of asked) {
    const { text, resource } = one.entry
    const body = one.name === 'operation' && text !== undefined ? toBody(text, resource) : undefined
    ruled.push(await rule({ ...one, asked: { ...one.asked, gone, body } }))
    await breathe(ctx, ruled.length)
  }
  const changes = ruled.filter(isChange)
  const looks = ruled.filter(isLook)

  const locateAll = async (): Promise<readonly Located[]> => {
    const located: Located[] = []
    for (const one of changes) {
      const { entry, addressed } = one.step
      const body = { text: entry.text ?? '', resource: entry.resource ?? {}, members: [] }
      const target = await atEntry(entry.index, addressed.interaction, () => addressed.locate(body))
      located.push({ ...one, target })
    }
    return located.sort(inOrder)
  }
  /** R4: identities that overlap fail the transaction. */
  const checkOverlap = (located: readonly Located[]): void => {
    const seen = new Set<string>()
    for (const { step, target } of located) {
      // A condition that matched nothing to delete, or something that is left as it is.
      if (target.id === '' || (step.name === 'create' && target.found !== undefined)) continue
      for (const id of [target.id, ...(target.others ?? [])]) {
        const name = `${step.addressed.interaction.type}/${id}`
        if (seen.has(name)) throw placed(DuplicateTarget(name), step.entry.index)
        seen.add(name)
      }
    }
  }

  let attempts = 0
  return untilUncontended(async () => {
    attempts += 1
    const located = await locateAll()
    checkOverlap(located)
    const resolved = await resolveLinks(server, ctx, located, attempts > 1)
    const prepared: { readonly one: Located; readonly prepared: Prepared }[] = []
    for (const [at, one] of located.entries()) {
      const { entry, addressed } = one.step
      const body = resolved.bodies.get(entry.index)
      prepared.push({
        one,
        prepared: await atEntry(entry.index, addressed.interaction, () =>
          addressed.prepare(one.permit as Permit, one.target, body, one.ruling),
        ),
      })
      await breathe(ctx, at)
    }

    const progress: Progress = { interaction: undefined }
    const answers = createAnswerEntries(entries.length)
    const answered = ({ entry }: Step, answer: Answer): void =>
      answers.set(entry.index, answeredEntry(ctx, entry, answer))

    const changeAll = async (opened: Transaction, here: FhirServer): Promise<readonly Changed[]> => {
      const changed: Changed[] = []
      for (const [at, { one, prepared: ready }] of prepared.entries()) {
        progress.interaction = one.step.addressed.interaction
        if (ready.change === undefined && ready.changes !== undefined) {
          const made: Changed[] = []
          for (const change of ready.changes) made.push(await write.apply(opened, change))
          changed.push(...made)
          const answer = ready.answerAll(made)
          answered(one.step, answer)
          await tellOperation(here, ctx, progress.interaction, ready.changes, answer, opened)
        } else if (ready.change === undefined) {
          await tell(here, progress.interaction, ready.settled)
          answered(one.step, ready.settled)
        } else {
          const applied = write.apply(opened, ready.change)
          const made = applied instanceof Promise ? await applied : applied
          changed.push(made)
          answered(one.step, ready.answer(made))
        }
        await breathe(ctx, at)
      }
      await write.settle(ctx, opened, changed, progress)
      return changed
    }
    const lookAll = async (here: FhirServer): Promise<void> => {
      for (const [at, { step, ruling }] of looks.entries()) {
        const { interaction, answer } = step.addressed
        progress.interaction = interaction
        const found = await answer(here, ruling)
        await tell(here, interaction, found)
        answered(step, found)
        await breathe(ctx, at)
      }
    }
    /** Two entries under one condition, each of which found nothing, must not both make what it asks for. */
    const confirmAll = async (here: FhirServer): Promise<void> => {
      const byType = Map.groupBy(located, ({ step }) => step.addressed.interaction.type)
      for (const { step, target } of located) {
        const { interaction } = step.addressed
        if (target.confirm === undefined || byType.get(interaction.type)?.length === 1) continue
        progress.interaction = interaction
        await target.confirm(here)
      }
    }
    /** What a transaction that is begun again has answered before is answered anew. */
    const perform = (opened: Transaction): Promise<readonly Changed[]> => {
      answers.clear()
      progress.interaction = undefined
      return performAll(opened, within(server, opened))
    }
    const performAll = async (opened: Transaction, here: FhirServer): Promise<readonly Changed[]> => {
      // A condition holds its type: in one order everywhere, too.
      for (const { target } of prepared.map(({ one }) => one).sort(byType)) await target.verify?.(here, opened)
      await resolved.verify(here)
      const changed = await changeAll(opened, here)
      await confirmAll(here)
      await lookAll(here)
      progress.interaction = undefined
      await tell(here, { kind: 'transaction' }, { status: 200, shows: 'nothing' })
      return changed
    }
    const changed = await store.database.transact(perform).catch(async (error) => {
      const { interaction } = progress
      if (interaction?.entry === undefined || isContended(error)) throw error
      await refused(run, ctx, interaction, error)
      throw placed(error, interaction.entry)
    })
    const later = write.committed(ctx, changed)
    if (later !== undefined) await later
    return answers.toBundle(server.random.id(), 'transaction')
  })
}
