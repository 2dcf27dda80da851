/**
 * A change in steps, so that a request of its own and an entry of a transaction take the same ones: addressed (what is
 * asked, before anybody may know more), located (which resource it is about), prepared (the body read and checked),
 * applied inside a transaction.
 */
import { type Interaction, isServerError, type RequestContext, type Ruling } from '../../../kernel/index.ts'
import { andThen, type Transaction } from '../../database/service.ts'
import { change } from '../dispatch.ts'
import { Contended } from '../errors.ts'
import { permitChange } from '../owned.ts'
import type { Permit } from '../search/judge.ts'
import { type FhirServer, within } from '../server.ts'
import type { Change, Changed } from '../store/change.ts'
import type { StoredVersion } from '../store/version.ts'
import type { Answer } from './answer.ts'
import type { Asked } from './asked.ts'

/** The resource a change is about. */
export interface Target {
  readonly id: string
  /** What a condition found. */
  readonly found?: StoredVersion | undefined
  /** Ids of those a condition found besides. */
  readonly others?: readonly string[]
  /** Inside the transaction, before it changes anything: throws Contended when it would be located elsewhere by now. */
  verify?(server: FhirServer, transaction: Transaction): Promise<void>
  /** In a Bundle, once all its changes are made: throws when another of them meets the same condition. */
  confirm?: ((server: FhirServer) => Promise<void>) | undefined
}

export type Prepared =
  | { readonly change: Change; answer(changed: Changed): Answer }
  /** Several, of an operation. */
  | { readonly change?: undefined; readonly changes: readonly Change[]; answerAll(changed: readonly Changed[]): Answer }
  /** There is nothing to change, and this is the answer. */
  | { readonly change?: undefined; readonly changes?: undefined; readonly settled: Answer }

export interface Addressed {
  readonly interaction: Interaction
  /** `body` as it was asked. Throws 400, 412. */
  locate(body: unknown): Target | Promise<Target>
  /** Reads the body and checks it. `permit` goes with a change of the type addressed. Throws 4xx. */
  prepare(permit: Permit, target: Target, body: unknown, ruling: Ruling): Prepared | Promise<Prepared>
}

/** Reads address, parameters and headers. Throws 404, 400, 406. */
export type AddressChange = (server: FhirServer, asked: Asked) => Addressed

/** Others may change, between locating and the transaction, what was located; then all is done again, so often. */
const MOST_ATTEMPTS = 10

export const isContended = (error: unknown): boolean => isServerError(error) && error.key === Contended.key

/** Repeats `work` while others were faster. */
export const untilUncontended = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === MOST_ATTEMPTS || !isContended(error)) throw error
    }
  }
}

/** The fact of an operation, unless one of the changes it made says all of it. */
export const tellOperation = async (
  { run }: FhirServer,
  request: RequestContext,
  interaction: Interaction,
  changes: readonly Change[],
  { status, details }: Answer,
  transaction: Transaction,
): Promise<void> => {
  if (run.onAudit === null) return
  if (interaction.kind !== 'operation') return
  const isTold = changes.some(({ type, id }) => type === interaction.type && id === interaction.id)
  if (!isTold) await run.onAudit({ request, interaction, status, details, transaction })
}

type Several = Extract<Prepared, { readonly changes: readonly Change[] }>

/** The changes of an operation, in one transaction. */
const performSeveral = async (
  server: FhirServer,
  ctx: RequestContext,
  interaction: Interaction,
  { changes, answerAll }: Several,
): Promise<Answer> => {
  const { store, write } = server
  const { changed, answer } = await store.database.transact(async (transaction) => {
    const made: Changed[] = []
    for (const one of changes) made.push(await write.apply(transaction, one))
    await write.settle(ctx, transaction, made)
    const answered = answerAll(made)
    await tellOperation(server, ctx, interaction, changes, answered, transaction)
    return { changed: made, answer: answered }
  })
  const later = write.committed(ctx, changed)
  if (later !== undefined) await later
  return answer
}

/** A change that is a transaction of its own. */
export const performChange = (server: FhirServer, asked: Asked, address: AddressChange): Promise<Answer> => {
  const { interaction, locate, prepare } = address(server, asked)
  const { ctx, body } = asked
  const { run, store, write } = server
  return change(run, ctx, interaction, async (ruling) => {
    const permitted = permitChange(server, ctx, ruling, interaction)
    const permit = permitted instanceof Promise ? await permitted : permitted
    return untilUncontended(async () => {
      const located = locate(body)
      const target = located instanceof Promise ? await located : located
      const preparing = prepare(permit, target, body, ruling)
      const prepared = preparing instanceof Promise ? await preparing : preparing
      if (prepared.change === undefined && prepared.changes !== undefined)
        return performSeveral(server, ctx, interaction, prepared)
      if (prepared.change === undefined) {
        const { status, version } = prepared.settled
        if (run.onAudit !== null) await run.onAudit({ request: ctx, interaction, status, version: version?.version })
        return prepared.settled
      }
      const changed = await store.database.transact((transaction) =>
        andThen(target.verify?.(within(server, transaction), transaction), () =>
          andThen(write.apply(transaction, prepared.change), (one) =>
            andThen(write.settle(ctx, transaction, [one]), () => one),
          ),
        ),
      )
      const later = write.committed(ctx, [changed])
      if (later !== undefined) await later
      return prepared.answer(changed)
    })
  })
}
