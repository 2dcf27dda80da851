/** Reads the entries of a transaction, and authorizes all of them before any is performed. */
import type { Interaction } from '../../../kernel/index.ts'
import { authorize } from '../dispatch.ts'
import { answeredEntry } from './answer.ts'
import { type BundleEntry, type BundleRequest, isRefused } from './bundle-request.ts'
import { toBody } from './entry-body.ts'
import {
  asksForCapabilities,
  type EntryRequest,
  toEntryInteraction,
  toInteractionRequest,
} from './entry-interaction.ts'
import type { Ruled } from './located-entry.ts'
import type { TransactionRun } from './transaction-run.ts'

export interface RuledEntries {
  readonly ruled: readonly Ruled[]
  /** `Type/id` that an entry deletes by its address. */
  readonly deleted: readonly string[]
  /** `Type/id` of everything that the transaction deletes; who locates the entries adds matches of conditional deletions. */
  readonly gone: Set<string>
}

/** GET metadata reads no resource: answered before the transaction and without an event, as in a batch. */
const describe = async ({ parts, ctx, headers, answers }: TransactionRun, entry: BundleEntry): Promise<void> =>
  answers.keep(entry.index, answeredEntry(ctx, entry, await parts.capabilities({ ctx, headers, url: entry.url })))

const readEntries = async (run: TransactionRun, { entries }: BundleRequest): Promise<readonly EntryRequest[]> => {
  const { ctx, headers, breathe } = run
  const { readAt, refuseUnknown } = run.refusals
  const requested: EntryRequest[] = []
  for (const entry of entries) {
    if (isRefused(entry)) return refuseUnknown(entry, entry.error)
    if (await readAt(entry, () => asksForCapabilities(entry, ctx)))
      await describe(run, entry).catch((error) => refuseUnknown(entry, error))
    else requested.push(await readAt(entry, () => toInteractionRequest(ctx, entry, headers)))
    await breathe()
  }
  return requested
}

const ruleEntry = async (run: TransactionRun, given: EntryRequest): Promise<Ruled> => {
  const { parts, view, ctx } = run
  const { interactions, guardChange } = parts
  const { readAt, atEntry } = run.refusals
  const named = (): Interaction | undefined => interactions.named(given.name, given.request)
  const step = await readAt(given.entry, () => toEntryInteraction(interactions, view, given), named)
  const { interaction } = step.addressed
  return atEntry(given.entry.index, interaction, async () => {
    const ruling = await authorize(view.run, ctx, interaction)
    if (step.kind !== 'change') return { step, ruling, guard: undefined }
    return { step, ruling, guard: await guardChange(view, ctx, ruling, interaction) }
  })
}

/** Throws the refusal of the first entry that cannot be read or is not allowed. */
export const ruleEntries = async (run: TransactionRun, bundle: BundleRequest): Promise<RuledEntries> => {
  const requested = await readEntries(run, bundle)
  const deleted = requested.flatMap(({ entry, request: { params } }) =>
    entry.method === 'DELETE' ? [`${params.type}/${params.id}`] : [],
  )
  const gone = new Set<string>()
  const ruled: Ruled[] = []
  for (const one of requested) {
    const { text, resource } = one.entry
    const body = one.name === 'operation' && text !== undefined ? toBody(text, resource) : undefined
    ruled.push(await ruleEntry(run, { ...one, request: { ...one.request, gone, body } }))
    await run.breathe()
  }
  return { ruled, deleted, gone }
}
