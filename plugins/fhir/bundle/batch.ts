/**
 * batch: each entry is performed independently, as if it had been sent alone. https://hl7.org/fhir/R4/http.html#brules
 */
import type { IncomingHttpHeaders } from 'node:http'
import {
  type Interaction,
  isServerError,
  type Random,
  type RequestContext,
  toServerError,
} from '../../../kernel/index.ts'
import type { Database, MaybePromise, Transaction } from '../../database/service.ts'
import type { Capabilities } from '../interactions/capabilities.ts'
import type { Interactions } from '../interactions/interactions.ts'
import type { View } from '../view.ts'
import { answeredEntry, createAnswerEntries } from './answer.ts'
import { type BundleEntry, type BundleRequest, isRefused, RANK, type RefusedEntry } from './bundle-request.ts'
import { toBody } from './entry-body.ts'
import { asksForCapabilities, toInteractionRequest } from './entry-interaction.ts'
import { ClientDisconnected, DuplicateTarget } from './errors.ts'
import { refuseEntry } from './refuse-entry.ts'
import { toSequences } from './sequences.ts'
import { createYield } from './yield.ts'

const LANES = 32 // sequences performed concurrently, so that their changes can share a COMMIT

/** Performs the entries of a sequence one after the other, and up to LANES sequences at the same time. */
const inLanes = async <T>(
  request: RequestContext,
  sequences: readonly (readonly T[])[],
  work: (entry: T) => Promise<void>,
): Promise<void> => {
  let next = 0
  const breathe = createYield(request)
  const lane = async (): Promise<void> => {
    while (next < sequences.length) {
      const sequence = sequences[next] as readonly T[]
      next += 1
      for (const entry of sequence) {
        // The client has disconnected, so nobody needs the remaining entries.
        if (request.signal.aborted) throw ClientDisconnected()
        await work(entry)
        await breathe()
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(LANES, sequences.length) }, lane))
}

/** Runs further statements in the database transaction of the Bundle. It is called again when that transaction is repeated. */
export type BesideBundle = (transaction: Transaction) => MaybePromise<void>

/** Performs a batch or a transaction. Returns the answer as JSON. A batch calls no `beside`. */
export type PerformBundle = (
  view: View,
  ctx: RequestContext,
  request: BundleRequest,
  headers: IncomingHttpHeaders,
  beside?: BesideBundle,
) => Promise<string>

export interface BatchParts {
  readonly interactions: Interactions
  readonly capabilities: Capabilities
  readonly random: Random
  readonly database: Pick<Database, 'checkLease'>
}

/** Throws only when the client has disconnected. An entry that fails is answered with its error. */
export const createBatch =
  ({ interactions, capabilities, random, database }: BatchParts): PerformBundle =>
  async (view, ctx, { entries }, headers) => {
    const answers = createAnswerEntries(entries.length)
    const changed = new Set<string>()

    const performEntry = async (entry: BundleEntry): Promise<void> => {
      let isAddressed = false
      let named: (() => Interaction | undefined) | undefined
      try {
        // Another server may have taken over since the batch began.
        database.checkLease()
        if (asksForCapabilities(entry, ctx)) {
          const answer = await capabilities({ ctx, headers, url: entry.url })
          answers.set(entry.index, answeredEntry(ctx, entry, answer))
          return
        }
        const { request, name } = toInteractionRequest(ctx, entry, headers, true)
        const { type, id } = request.params
        const changes =
          RANK[entry.method] !== RANK.GET && !(name === 'operation' && interactions.isAnswering(request.params))
        if (type !== undefined && id !== undefined && changes) {
          const target = `${type}/${id}`
          if (changed.has(target)) throw DuplicateTarget(target)
          changed.add(target)
        }
        const body = entry.text === undefined ? undefined : toBody(entry.text, entry.resource)
        const complete = { ...request, body }
        named = () => interactions.named(name, complete)
        const found = interactions.address(view, name, complete)
        isAddressed = true
        const answer = await interactions.performAddressed(view, complete, found)
        answers.set(entry.index, answeredEntry(ctx, entry, answer))
      } catch (error) {
        const refusal = toServerError(error)
        if (!isServerError(error))
          ctx.log.error({ entry: entry.index, plugin: refusal.plugin, hook: refusal.hook, err: error })
        // Performing an addressed entry has emitted its refusal already.
        answers.refuse(entry.index, isAddressed ? refusal : await refuseEntry(view.run, ctx, entry, refusal, named?.()))
      }
    }
    const refuse = async (entry: RefusedEntry): Promise<void> =>
      answers.refuse(entry.index, await refuseEntry(view.run, ctx, entry, entry.error))
    const refused = entries.filter(isRefused).map((entry) => [entry])
    await inLanes(ctx, refused, refuse)
    // In the order of a transaction, so that a Bundle has the same effect as a batch or as a transaction.
    for (const rank of [0, 1, 2, 3]) {
      const some: BundleEntry[] = []
      for (const entry of entries) if (!isRefused(entry) && RANK[entry.method] === rank) some.push(entry)
      await inLanes(ctx, toSequences(some, ctx), performEntry)
    }
    return answers.toBundle(random.id(), 'batch')
  }
