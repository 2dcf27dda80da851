/** What a transaction does when one of its entries fails: a refusal is recorded in the audit trail, and the error names the entry. */
import { type Interaction, type RequestContext, type Runners, toServerError } from '../../../kernel/index.ts'
import { emitRefused } from '../dispatch.ts'
import { isContention } from '../interactions/change.ts'
import type { BundleEntry, RefusedEntry } from './bundle-request.ts'
import { issuesOfEntry } from './entry-error.ts'
import { refuseEntry } from './refuse-entry.ts'

export interface EntryRefusals {
  /** Emits the fact that an entry is refused, then throws the error with the place of the entry. */
  refuse(index: number, interaction: Interaction, error: unknown): Promise<never>
  /** Like `refuse`, before the interaction of the entry is known; `named` is the one that its address names. */
  refuseUnknown(entry: BundleEntry | RefusedEntry, error: unknown, named?: Interaction | undefined): Promise<never>
  /** Runs `work`, which reads an entry. When it throws, the entry is refused. */
  readAt<T>(entry: BundleEntry, work: () => T, named?: () => Interaction | undefined): T | Promise<never>
  /** Performs one step of an entry. When it fails, the entry is refused. Returns a promise only then, or when the step is asynchronous. */
  atEntry<T>(index: number, interaction: Interaction, work: () => T | Promise<T>): T | Promise<T>
}

/** The error with the place of its entry. Contended stays as it is, because it only causes a retry. */
const placed = (error: unknown, index: number): unknown => {
  if (isContention(error)) return error
  const known = toServerError(error)
  return known.with({ issues: issuesOfEntry(known, index) })
}

export const createEntryRefusals = (run: Runners, ctx: RequestContext): EntryRefusals => {
  const refuse: EntryRefusals['refuse'] = async (index, interaction, error) => {
    if (!isContention(error)) await emitRefused(run, ctx, interaction, error)
    throw placed(error, index)
  }
  const refuseUnknown: EntryRefusals['refuseUnknown'] = async (entry, error, named) => {
    throw placed(await refuseEntry(run, ctx, entry, toServerError(error), named), entry.index)
  }
  return {
    refuse,
    refuseUnknown,
    readAt(entry, work, named) {
      try {
        return work()
      } catch (error) {
        return refuseUnknown(entry, error, named?.())
      }
    },
    atEntry(index, interaction, work) {
      try {
        const done = work()
        return done instanceof Promise ? done.catch((error) => refuse(index, interaction, error)) : done
      } catch (error) {
        return refuse(index, interaction, error)
      }
    },
  }
}
