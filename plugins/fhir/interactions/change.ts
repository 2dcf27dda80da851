/**
 * The steps of a change, which requests and entries of a transaction share. Addressed: its address, parameters and
 * headers were read, before anything is revealed. Located: its resource is known. Prepared: the body was read and
 * checked. Applied: it was made inside a transaction.
 */

import {
  type Clock,
  type Interaction,
  isServerError,
  type Random,
  type RequestContext,
  type Ruling,
} from '../../../kernel/index.ts'
import { chain, type Database, type Transaction, type TransactOptions } from '../../database/service.ts'
import type { Change, Changed, StoredVersion, WriteGuard, WritePath } from '../../storage/service.ts'
import { Contended, isLongWrite, isStaleFindings } from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { issuesOfRefusal } from '../bundle/entry-error.ts'
import { dispatchChange } from '../dispatch.ts'
import { acceptsGzip } from '../http/media.ts'
import type { LargeBodies } from '../large/large-bodies.ts'
import type { PrepareVersions } from '../large/prepare-versions.ts'
import type { PrepareWrite } from '../large/prepare-write.ts'
import { isTransformed } from '../presentation/present.ts'
import { inside, type View } from '../view.ts'
import type { Answer } from './answer.ts'
import type { GuardChange } from './guard-change.ts'
import { lockTargets } from './lock-targets.ts'
import type { InteractionRequest } from './request.ts'

/** The resource that a change is about. */
export interface ChangeTarget {
  readonly id: string
  /** The version that a condition found. */
  readonly found?: StoredVersion | undefined
  /** Ids of further resources that the condition found. */
  readonly others?: readonly string[]
  /** Inside the transaction, before any change: throws Contended when the condition finds something else by now. */
  verify?(view: View, transaction: Transaction): Promise<unknown>
  /** For an update whose criteria found nothing: throws when a resource with its id exists. */
  readonly checkReplaced?: (current: StoredVersion) => void
  /** In a Bundle, after all its changes: throws 412 when another change has made a second match for the condition. */
  confirm?: ((view: View, own: ReadonlySet<string>) => Promise<void>) | undefined
}

export type PreparedChange =
  | { readonly change: Change; answer(changed: Changed): Answer }
  /** Several changes, of an operation or of a conditional deletion. */
  | { readonly change?: undefined; readonly changes: readonly Change[]; answerAll(changed: readonly Changed[]): Answer }
  /** Nothing is to be changed; `settled` is the answer. */
  | { readonly change?: undefined; readonly changes?: undefined; readonly settled: Answer }

export const changesOf = (prepared: PreparedChange): readonly Change[] =>
  prepared.change !== undefined ? [prepared.change] : (prepared.changes ?? [])

export interface AddressedChange {
  readonly interaction: Interaction
  /** `body` is the body of the request. Throws 400, 412. */
  locate(body: unknown): ChangeTarget | Promise<ChangeTarget>
  /** Reads and checks the body. `guard` is for changes of the addressed type. Throws 4xx. */
  prepare(
    guard: WriteGuard,
    target: ChangeTarget,
    body: unknown,
    ruling: Ruling,
  ): PreparedChange | Promise<PreparedChange>
}

/** Reads address, parameters and headers. Throws 404, 400, 406. */
export type AddressChange = (view: View, request: InteractionRequest) => AddressedChange

/** The interaction, with the id of the resource that its condition has found. */
export const interactionAbout = ({ interaction }: AddressedChange, { id, found }: ChangeTarget): Interaction =>
  found === undefined ? interaction : { ...interaction, id }

/**
 * Attempts to make a change. One fails when another writer has changed what was located before the transaction began.
 */
const MAX_ATTEMPTS = 30
/** Of those in which a large resource was read again, which takes seconds of a thread. */
const MAX_LARGE_ATTEMPTS = 10
/** After this time no further attempt begins, because each may have waited for a lock. One of a large body has not. */
const PATIENCE_MS = 3_000

export const isContention = (error: unknown): boolean => isServerError(error) && error.key === Contended.key

export interface RetryParts {
  readonly database: Database
  readonly clock: Clock
  readonly random: Random
}

/** Attempts that follow each other at once on PostgreSQL. */
const AT_ONCE = 3
const LONGEST_PAUSE_MS = 64

/**
 * Waits longer with each attempt, from a millisecond to LONGEST_PAUSE_MS: two writers that make each other begin again
 * would otherwise do so until their attempts are used up. The half of it is chance, so that they do not meet again.
 */
const backOff = ({ clock, random }: RetryParts, attempt: number): Promise<void> => {
  const share = Number.parseInt(random.id().slice(0, 4), 16) / 0xffff
  const ms = Math.ceil(Math.min(2 ** (attempt - AT_ONCE), LONGEST_PAUSE_MS) * (0.5 + share / 2))
  return new Promise((resolve) => {
    clock.deadline(ms).addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Repeats `work` while it throws Contended, within the limits above. */
export const retryOnContention = async <T>(parts: RetryParts, work: () => Promise<T>): Promise<T> => {
  const { database, clock } = parts
  const until = clock.monotonic() + PATIENCE_MS
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      const isPatient = isStaleFindings(error) || clock.monotonic() <= until
      const most = isStaleFindings(error) ? MAX_LARGE_ATTEMPTS : MAX_ATTEMPTS
      if (attempt >= most || !isContention(error) || !isPatient) throw error
      // On SQLite the other writer's changes may belong to a group that is not committed yet, and a search would not
      // find them. An empty transaction waits for that COMMIT. On PostgreSQL the attempt has waited for a lock, so the
      // changes are committed; of a large resource the work of the thread is pause enough.
      if (database.kind !== 'postgres') await database.transact(() => undefined)
      else if (attempt >= AT_ONCE && !isStaleFindings(error)) await backOff(parts, attempt)
    }
  }
}

/** Emits the fact of an operation, unless it changes the addressed resource: then the fact of that change is enough. */
export const emitOperation = async (
  { run }: Pick<View, 'run'>,
  request: RequestContext,
  interaction: Interaction,
  changes: readonly Change[],
  { status, details }: Answer,
  transaction: Transaction,
): Promise<void> => {
  if (run.onAudit === null) return
  if (interaction.kind !== 'operation') return
  const isEmitted = changes.some(({ type, id }) => type === interaction.type && id === interaction.id)
  if (!isEmitted) await run.onAudit({ request, interaction, status, details, transaction })
}

export interface PerformChangeParts extends RetryParts {
  readonly write: WritePath
  readonly large: Pick<LargeBodies, 'concernsVersion'>
  readonly prepareVersions: PrepareVersions
  readonly prepareWrite: PrepareWrite
  readonly guardChange: GuardChange
  readonly audit: Pick<AuditDetails, 'of'>
}

const LONG: TransactOptions = { isLong: true }

type Several = Extract<PreparedChange, { readonly changes: readonly Change[] }>

/** Makes the changes of an operation or of a conditional deletion in one transaction. */
const performSeveral = async (
  { database, write, prepareWrite }: PerformChangeParts,
  view: View,
  ctx: RequestContext,
  interaction: Interaction,
  target: ChangeTarget,
  { changes, answerAll }: Several,
): Promise<Answer> => {
  const ready = await prepareWrite.changes(view, ctx, changes)
  const work = async (transaction: Transaction) => {
    await lockTargets(inside(view, transaction), transaction, [
      { type: interaction.type ?? '', target, changes: ready },
    ])
    const made: Changed[] = []
    for (const one of ready) made.push(await write.apply(transaction, one))
    await write.complete(ctx, transaction, made, issuesOfRefusal)
    const answered = answerAll(made)
    await emitOperation(view, ctx, interaction, changes, answered, transaction)
    return { changed: made, answer: answered }
  }
  const { changed, answer } = await database.transact(work, isLongWrite(ready) ? LONG : undefined)
  const later = write.committed(changed)
  if (later !== undefined) await later
  return answer
}

/** Prepares a large version for an answer off the main thread, unless its stored bytes are sent. Undefined for others. */
const prepareAnswer = (
  { large, prepareVersions }: PerformChangeParts,
  view: View,
  { ctx, headers }: InteractionRequest,
  answer: Answer,
): Promise<unknown> | undefined => {
  const { shows, version, type, presentation } = answer
  if (shows !== 'version' || version === undefined || type === undefined) return undefined
  if (presentation !== undefined && isTransformed(presentation))
    return prepareVersions(view, ctx, [version], presentation)
  if (large.concernsVersion(version) && !(version.gzip && acceptsGzip(headers['accept-encoding'])))
    return version.decompress()
  return undefined
}

/** Performs a change in a transaction of its own. */
export type PerformChange = (view: View, request: InteractionRequest, addressed: AddressedChange) => Promise<Answer>

export const createPerformChange =
  (parts: PerformChangeParts): PerformChange =>
  (view, request, addressed) => {
    const { interaction, locate, prepare } = addressed
    const { ctx } = request
    const { run } = view
    const { database, write, prepareWrite, guardChange, audit } = parts
    const takesResource = interaction.kind === 'create' || interaction.kind === 'update'
    const type = interaction.type ?? ''
    let { body } = request
    return dispatchChange(run, ctx, interaction, async (ruling, emitFound) => {
      const guarded = guardChange(view, ctx, ruling, interaction)
      const guard = guarded instanceof Promise ? await guarded : guarded
      return retryOnContention(parts, async () => {
        emitFound(interaction)
        if (takesResource) {
          const ready = prepareWrite.body(view, ctx, { type, id: interaction.id, guard }, body)
          body = ready instanceof Promise ? await ready : ready
        }
        const located = locate(body)
        const target = located instanceof Promise ? await located : located
        const about = interactionAbout(addressed, target)
        emitFound(about)
        if (interaction.kind === 'update' && interaction.id === undefined && target.found !== undefined) {
          // Only now is it known which version is replaced.
          const ready = prepareWrite.body(view, ctx, { type, id: target.id, guard }, body)
          body = ready instanceof Promise ? await ready : ready
        }
        const preparing = prepare(guard, target, body, ruling)
        const prepared = preparing instanceof Promise ? await preparing : preparing
        if (prepared.change === undefined && prepared.changes !== undefined)
          return performSeveral(parts, view, ctx, interaction, target, prepared)
        if (prepared.change === undefined) {
          const { status, version } = prepared.settled
          const details = audit.of(run, version, ctx.ownUrl)
          if (run.onAudit !== null)
            await run.onAudit({ request: ctx, interaction: about, status, version: version?.version, details })
          return prepared.settled
        }
        const completing = prepareWrite.change(view, ctx, prepared.change)
        const ready = completing instanceof Promise ? await completing : completing
        const changed = await database.transact(
          (transaction) =>
            chain(target.verify?.(inside(view, transaction), transaction), () =>
              chain(write.apply(transaction, ready), (one) =>
                chain(write.complete(ctx, transaction, [one], issuesOfRefusal), () => one),
              ),
            ),
          isLongWrite([ready]) ? LONG : undefined,
        )
        const later = write.committed([changed])
        if (later !== undefined) await later
        const answer = prepared.answer(changed)
        const shown = prepareAnswer(parts, view, request, answer)
        if (shown !== undefined) await shown
        return answer
      })
    })
  }
