/**
 * Makes the changes of a session in one transaction. They take the same steps as over HTTP (addressed, located,
 * prepared, applied), in the order of R4 for transactions. https://hl7.org/fhir/R4/http.html#trules
 */
import type { MaybePromise, Transaction } from '../../database/service.ts'
import {
  byLockKey,
  type Changed,
  type CurrentChange,
  isLongWrite,
  type StoredVersion,
  type WriteGuard,
  type WritePath,
} from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { issuesOfRefusal } from '../bundle/entry-error.ts'
import { emitRefused } from '../dispatch.ts'
import {
  changesOf,
  interactionAbout,
  isContention,
  type RetryParts,
  retryOnContention,
} from '../interactions/change.ts'
import { lockTargets } from '../interactions/lock-targets.ts'
import { inside } from '../view.ts'
import { type ChangeStepParts, createSteps, type Located, type Ready, type Ruled } from './change-steps.ts'
import { SessionTwice } from './errors.ts'
import type { Opened, Seat } from './seat.ts'
import type { Beside, Made, Session, SessionChange, SessionChanged } from './session.ts'

export interface SessionChangeParts extends RetryParts, ChangeStepParts {
  readonly write: WritePath
  readonly audit: Pick<AuditDetails, 'of'>
}

/** Deletions, creates, then changes of existing resources, as in a Bundle. */
const RANKS: Readonly<Record<SessionChange['kind'], number>> = { delete: 0, create: 1, update: 2, modify: 2 }

/** All transactions change existing resources in the same order, so that they cannot deadlock. */
const inOrder = (one: Located, other: Located): number => {
  const rank = RANKS[one.wanted.kind]
  if (rank !== RANKS[other.wanted.kind] || rank === RANKS.create) return rank - RANKS[other.wanted.kind]
  return byLockKey(one.key, other.key)
}

/** The JSON is undefined when the caller may not read the version. */
const toChanged = (version: StoredVersion, guard: WriteGuard, created: boolean, written: boolean): SessionChanged => ({
  type: version.type,
  id: version.id,
  version: version.version,
  created,
  written,
  get json() {
    return version.deleted || !guard.reads(version) ? undefined : version.text
  },
})

/** Takes a step for each item, one after the other. */
const each = async <T, R>(items: readonly T[], step: (item: T, at: number) => MaybePromise<R>): Promise<R[]> => {
  const done: R[] = []
  for (const [at, item] of items.entries()) {
    const one = step(item, at)
    done.push(one instanceof Promise ? await one : one)
  }
  return done
}

/** The second of two changes of the same resource; R4 does not allow that in a transaction. */
const findTwice = (located: readonly Located[]): Located | undefined => {
  const seen = new Set<string>()
  return located.find((one) => {
    const { target, wanted } = one
    if (target.id === '' || (wanted.kind === 'create' && target.found !== undefined)) return false
    const isTwice = seen.has(one.key)
    seen.add(one.key)
    return isTwice
  })
}

/** Applies the changes inside the transaction. */
const applyAll = async (
  { write, audit }: SessionChangeParts,
  { view, request }: Opened,
  transaction: Transaction,
  ready: readonly Ready[],
  progress: CurrentChange,
): Promise<{ readonly changed: readonly Changed[]; readonly made: Made }> => {
  const here = inside(view, transaction)
  await lockTargets(
    here,
    transaction,
    ready.map(({ wanted: { type }, target, prepared }) => ({ type, target, changes: changesOf(prepared) })),
  )
  const changed: Changed[] = []
  const results: (SessionChanged | undefined)[] = new Array(ready.length).fill(undefined)
  for (const { at, addressed, target, prepared, guard } of ready) {
    progress.interaction = interactionAbout(addressed, target)
    if (prepared.change !== undefined) {
      const applied = write.apply(transaction, prepared.change)
      const made = applied instanceof Promise ? await applied : applied
      changed.push(made)
      results[at] = toChanged(made.version, guard, made.created && made.written, made.written)
    } else if (prepared.changes === undefined) {
      const { status, version } = prepared.settled
      const details = audit.of(here.run, version, request.ownUrl)
      const { interaction } = progress
      await here.run.onAudit?.({ request, interaction, status, version: version?.version, details })
      if (version !== undefined) results[at] = toChanged(version, guard, false, false)
    }
  }
  await write.complete(request, transaction, changed, issuesOfRefusal, progress)
  const own = new Set(changed.map(({ version }) => `${version.type}/${version.id}`))
  for (const { addressed, target, wanted } of ready) {
    if (target.confirm === undefined || ready.filter((one) => one.wanted.type === wanted.type).length === 1) continue
    progress.interaction = addressed.interaction
    await target.confirm(here, own)
  }
  progress.interaction = undefined
  return { changed, made: { changed: results } }
}

/** `late` returns the parts once the server has started. */
export const createChange = (late: () => SessionChangeParts, seat: Seat): Session['change'] => {
  return async (changes: readonly SessionChange[], beside?: Beside): Promise<Made> => {
    const parts = late()
    const opened = seat.openToChange()
    const { view, request } = opened
    const gone = new Set<string>()
    const steps = createSteps(parts, opened, gone)
    const ruled = await each(changes, steps.rule)
    const isDeletion = ({ wanted }: Ruled): boolean => wanted.kind === 'delete'

    const locateAll = async (): Promise<readonly Located[]> => {
      gone.clear()
      for (const { wanted } of ruled)
        if (wanted.kind === 'delete' && wanted.id !== undefined) gone.add(`${wanted.type}/${wanted.id}`)
      const deleted = await each(ruled.filter(isDeletion), steps.locate)
      for (const { key } of deleted) gone.add(key)
      const others = await each(
        ruled.filter((one) => !isDeletion(one)),
        steps.locate,
      )
      return [...deleted, ...others].sort(inOrder)
    }
    return retryOnContention(parts, async () => {
      const located = await locateAll()
      const twice = findTwice(located)
      if (twice !== undefined)
        await steps.audited(interactionAbout(twice.addressed, twice.target), () => {
          throw SessionTwice(twice.key)
        })
      const ready = await each(located, steps.prepare)
      const progress: CurrentChange = { interaction: undefined }
      const work = async (transaction: Transaction) => {
        progress.interaction = undefined
        const applied = await applyAll(parts, opened, transaction, ready, progress)
        await beside?.(transaction, applied.made)
        return applied
      }
      const readsMayWait = view.readsMayWait === true
      const isLong = isLongWrite(ready.flatMap(({ prepared }) => changesOf(prepared)))
      const { changed, made } = await parts.database.transact(work, { isLong, readsMayWait }).catch(async (error) => {
        const { interaction } = progress
        if (interaction !== undefined && !isContention(error)) await emitRefused(view.run, request, interaction, error)
        throw error
      })
      await parts.write.committed(changed)
      return made
    })
  }
}
