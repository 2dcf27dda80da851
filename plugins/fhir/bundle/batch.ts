/** batch: every entry by itself, as if it had been sent alone. https://hl7.org/fhir/R4/http.html#brules */
import type { IncomingHttpHeaders } from 'node:http'
import { isServerError, type RequestContext, toServerError } from '../../../kernel/index.ts'
import { isAnswering } from '../interactions/operation.ts'
import { perform } from '../interactions/perform.ts'
import type { FhirServer } from '../server.ts'
import { answeredEntry, createAnswerEntries } from './answer.ts'
import { type BundleEntry, type Envelope, isRefused, RANK } from './envelope.ts'
import { BundleLeft, DuplicateTarget } from './errors.ts'
import { toAsked } from './step.ts'
import { toBody } from './text.ts'

const LANES = 32 // entries under way at once: their changes share a commit

const inLanes = async <T>(
  { signal }: RequestContext,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> => {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      // Nobody waits for the rest.
      if (signal.aborted) throw BundleLeft()
      const item = items[next] as T
      next += 1
      await work(item)
    }
  }
  await Promise.all(Array.from({ length: Math.min(LANES, items.length) }, lane))
}

/** The answer, as JSON. Throws only when the client has left, never for what is wrong with an entry. */
export const batch = async (
  server: FhirServer,
  ctx: RequestContext,
  { entries }: Envelope,
  headers: IncomingHttpHeaders,
): Promise<string> => {
  const answers = createAnswerEntries(entries.length)
  const changed = new Set<string>()

  const performEntry = async (entry: BundleEntry): Promise<void> => {
    try {
      const { asked, name } = toAsked(ctx, entry, headers)
      const { type, id } = asked.params
      const changes = RANK[entry.method] !== RANK.GET && !(name === 'operation' && isAnswering(server, asked.params))
      if (type !== undefined && id !== undefined && changes) {
        const target = `${type}/${id}`
        if (changed.has(target)) throw DuplicateTarget(target)
        changed.add(target)
      }
      const body = entry.text === undefined ? undefined : toBody(entry.text, entry.resource)
      const answer = await perform(server, name, { ...asked, body })
      answers.set(entry.index, answeredEntry(ctx, entry, answer))
    } catch (error) {
      const refusal = toServerError(error)
      if (!isServerError(error))
        ctx.log.error({ entry: entry.index, plugin: refusal.plugin, hook: refusal.hook, err: error })
      answers.refuse(entry.index, refusal)
    }
  }
  // In the order of a transaction, so that a Bundle means the same either way.
  for (const rank of [0, 1, 2, 3]) {
    const some: BundleEntry[] = []
    for (const entry of entries)
      if (isRefused(entry)) answers.refuse(entry.index, entry.error)
      else if (RANK[entry.method] === rank) some.push(entry)
    await inLanes(ctx, some, performEntry)
  }
  return answers.toBundle(server.random.id(), 'batch')
}
