/** Finds the resources that the entries of a transaction change. */
import { interactionAbout } from '../interactions/change.ts'
import { inOrder, isDeletion, namesOf } from './entry-order.ts'
import { DuplicateTarget } from './errors.ts'
import type { Located, Ruled } from './located-entry.ts'
import type { RuledEntries } from './rule-entries.ts'
import type { TransactionRun } from './transaction-run.ts'

const isChange = (one: Ruled): one is Omit<Located, 'target'> => one.step.kind === 'change'

const locate = async ({ refusals }: TransactionRun, one: Omit<Located, 'target'>): Promise<Located> => {
  const { entry, addressed } = one.step
  const body = { text: entry.text ?? '', resource: entry.resource ?? {}, members: [] }
  return { ...one, target: await refusals.atEntry(entry.index, addressed.interaction, () => addressed.locate(body)) }
}

/** R4: a transaction fails when two entries change the same resource. */
const checkOverlap = async ({ refusals }: TransactionRun, located: readonly Located[]): Promise<void> => {
  const seen = new Set<string>()
  for (const one of located) {
    const { step, target } = one
    // A conditional deletion without a match, or a create whose condition found a resource: it changes nothing.
    if (target.id === '' || (step.name === 'create' && target.found !== undefined)) continue
    for (const name of namesOf(one)) {
      if (seen.has(name))
        await refusals.refuse(step.entry.index, interactionAbout(step.addressed, target), DuplicateTarget(name))
      seen.add(name)
    }
  }
}

/** The changes in the order in which they are performed. Each attempt of a transaction locates its entries again. */
export const locateEntries = async (
  run: TransactionRun,
  { ruled, deleted, gone }: RuledEntries,
): Promise<readonly Located[]> => {
  const changes = ruled.filter(isChange)
  const located: Located[] = []
  gone.clear()
  for (const name of deleted) gone.add(name)
  const locateSome = async (some: readonly Omit<Located, 'target'>[]): Promise<void> => {
    for (const one of some) {
      located.push(await locate(run, one))
      await run.breathe()
    }
  }
  await locateSome(changes.filter(isDeletion))
  // R4 performs deletions first, so the conditions of other entries do not match deleted resources.
  for (const one of located) for (const name of namesOf(one)) gone.add(name)
  await locateSome(changes.filter((one) => !isDeletion(one)))
  located.sort(inOrder)
  await checkOverlap(run, located)
  return located
}
