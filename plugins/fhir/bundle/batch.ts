/** batch: every entry by itself, as if it had been sent alone. https://hl7.org/fhir/R4/http.html#brules */
import type { IncomingHttpHeaders } from 'node:http'
import { type Interaction, isServerError, type RequestContext, toServerError } from '../../../kernel/index.ts'
import { capabilities } from '../interactions/capabilities.ts'
import { isAnswering } from '../interactions/operation.ts'
import { address, interactionNamed, performAddressed } from '../interactions/perform.ts'
import type { FhirServer } from '../parts.ts'
import { answeredEntry, createAnswerEntries } from './answer.ts'
import { type BundleEntry, type BundleRequest, isRefused, RANK, type RefusedEntry } from './bundle-request.ts'
import { toBody } from './entry-body.ts'
import { asksForCapabilities, toInteractionRequest } from './entry-interaction.ts'
import { ClientDisconnected, DuplicateTarget } from './errors.ts'
import { refuseEntry } from './refuse-entry.ts'
import { toSequences } from './sequences.ts'
import { createYield } from './yield.ts'

const LANES = 32 // sequences under way at once: their changes share a commit

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
        // Nobody waits for the rest.
        if (request.signal.aborted) throw ClientDisconnected()
        await work(entry)
        await breathe()
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(LANES, sequences.length) }, lane))
}

/** The answer, as JSON. Throws only when the client has left, never for what is wrong with an entry. */
export const batch = async (
  server: FhirServer,
  ctx: RequestContext,
  { entries }: BundleRequest,
  headers: IncomingHttpHeaders,
): Promise<string> => {
  const answers = createAnswerEntries(entries.length)
  const changed = new Set<string>()

  const performEntry = async (entry: BundleEntry): Promise<void> => {
    let isAddressed = false
    let named: (() => Interaction | undefined) | undefined
    try {
      if (asksForCapabilities(entry, ctx)) {
        const { url, method } = entry
        const answer = await capabilities(server, { ctx, headers, method, url, params: {} })
        answers.set(entry.index, answeredEntry(ctx, entry, answer))
        return
      }
      const { request, name } = toInteractionRequest(ctx, entry, headers, true)
      const { type, id } = request.params
      const changes = RANK[entry.method] !== RANK.GET && !(name === 'operation' && isAnswering(server, request.params))
      if (type !== undefined && id !== undefined && changes) {
        const target = `${type}/${id}`
        if (changed.has(target)) throw DuplicateTarget(target)
        changed.add(target)
      }
      const body = entry.text === undefined ? undefined : toBody(entry.text, entry.resource)
      const complete = { ...request, body }
      named = () => interactionNamed(server, name, complete)
      const found = address(server, name, complete)
      isAddressed = true
      const answer = await performAddressed(server, complete, found)
      answers.set(entry.index, answeredEntry(ctx, entry, answer))
    } catch (error) {
      const refusal = toServerError(error)
      if (!isServerError(error))
        ctx.log.error({ entry: entry.index, plugin: refusal.plugin, hook: refusal.hook, err: error })
      // What was addressed has told its refusal itself.
      answers.refuse(entry.index, isAddressed ? refusal : await refuseEntry(server.run, ctx, entry, refusal, named?.()))
    }
  }
  const refuse = async (entry: RefusedEntry): Promise<void> =>
    answers.refuse(entry.index, await refuseEntry(server.run, ctx, entry, entry.error))
  const refused = entries.filter(isRefused).map((entry) => [entry])
  await inLanes(ctx, refused, refuse)
  // In the order of a transaction, so that a Bundle means the same either way.
  for (const rank of [0, 1, 2, 3]) {
    const some: BundleEntry[] = []
    for (const entry of entries) if (!isRefused(entry) && RANK[entry.method] === rank) some.push(entry)
    await inLanes(ctx, toSequences(some, ctx), performEntry)
  }
  return answers.toBundle(server.random.id(), 'batch')
}
