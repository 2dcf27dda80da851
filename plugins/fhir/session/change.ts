/**
 * Makes the changes of a session in one transaction. They take the same steps as over HTTP (addressed, located,
 * prepared, applied), in the order of R4 for transactions. https://hl7.org/fhir/R4/http.html#trules
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Interaction, RequestContext, Ruling } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import {
  byLockKey,
  type Changed,
  type CurrentChange,
  isLongWrite,
  lockKeyOf,
  type StoredVersion,
  type WriteGuard,
  type WritePath,
} from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { issuesOfRefusal } from '../bundle/entry-error.ts'
import { authorize, emitRefused } from '../dispatch.ts'
import {
  type AddressChange,
  type AddressedChange,
  type ChangeTarget,
  changesOf,
  interactionAbout,
  isContention,
  type PreparedChange,
  type RetryParts,
  retryOnContention,
} from '../interactions/change.ts'
import type { GuardChange } from '../interactions/guard-change.ts'
import { lockTargets } from '../interactions/lock-targets.ts'
import type { InteractionRequest } from '../interactions/request.ts'
import type { PrepareWrite } from '../large/prepare-write.ts'
import { toETag } from '../response/etag.ts'
import { inside, type View } from '../view.ts'
import { SessionTwice } from './errors.ts'
import { addressRevision, type RevisionParts } from './revise.ts'
import type { Opened, Seat } from './seat.ts'
import type { Beside, Made, Session, SessionChange, SessionChanged } from './session.ts'

export interface SessionChangeParts extends RetryParts, RevisionParts {
  readonly write: WritePath
  readonly guardChange: GuardChange
  readonly prepareWrite: PrepareWrite
  readonly audit: Pick<AuditDetails, 'of'>
  readonly changes: {
    readonly create: AddressChange
    readonly update: AddressChange
    /** Deletes one match only, also where the settings let clients delete several. */
    readonly deleteOne: AddressChange
  }
}

const METHODS = { create: 'POST', update: 'PUT', modify: 'PATCH', delete: 'DELETE' } as const
/** Deletions, creates, then changes of existing resources, as in a Bundle. */
const RANKS: Readonly<Record<SessionChange['kind'], number>> = { delete: 0, create: 1, update: 2, modify: 2 }

interface Ruled {
  readonly at: number
  readonly wanted: SessionChange
  readonly addressed: AddressedChange
  readonly ruling: Ruling
  readonly guard: WriteGuard
}
interface Located extends Ruled {
  readonly target: ChangeTarget
  readonly body: unknown
}
interface Ready extends Located {
  readonly prepared: PreparedChange
}

/** The request that would make the same change over HTTP. */
const toAsked = (ctx: RequestContext, wanted: SessionChange, gone: ReadonlySet<string>): InteractionRequest => {
  const { kind, type, condition } = wanted
  const id = kind === 'create' ? undefined : wanted.id
  const query = kind === 'create' || condition === undefined ? '' : `?${condition}`
  const ifMatch = kind === 'create' ? undefined : wanted.ifMatch
  const headers: IncomingHttpHeaders = {
    ...(ifMatch === undefined ? {} : { 'if-match': toETag(ifMatch) }),
    ...(kind === 'create' && condition !== undefined ? { 'if-none-exist': condition } : {}),
  }
  const params = id === undefined ? { type } : { type, id }
  return {
    ctx,
    headers,
    method: METHODS[kind],
    url: `/${type}${id === undefined ? '' : `/${id}`}${query}`,
    params,
    gone,
  }
}

const addressOf = (
  parts: SessionChangeParts,
  view: View,
  request: InteractionRequest,
  wanted: SessionChange,
): AddressedChange => {
  const { create, update, deleteOne } = parts.changes
  switch (wanted.kind) {
    case 'create':
      return create(view, request)
    case 'update':
      return update(view, request)
    case 'delete':
      return deleteOne(view, request)
    case 'modify':
      return addressRevision(parts, view, request, wanted.revise)
  }
}

const keyOf = ({ wanted: { type }, target: { id } }: Located): string => lockKeyOf({ type, id })
/** All transactions change existing resources in the same order, so that they cannot deadlock. */
const inOrder = (one: Located, other: Located): number => {
  const rank = RANKS[one.wanted.kind]
  if (rank !== RANKS[other.wanted.kind] || rank === RANKS.create) return rank - RANKS[other.wanted.kind]
  return byLockKey(keyOf(one), keyOf(other))
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

const jsonOf = (wanted: SessionChange): string | undefined =>
  wanted.kind === 'create' || wanted.kind === 'update' ? wanted.json : undefined

/**
 * The steps of the changes of one call. `gone` holds `Type/id` of what they delete; their conditions do not match it.
 */
const createSteps = (parts: SessionChangeParts, { view, request }: Opened, gone: Set<string>) => {
  const { run } = view
  const { guardChange, prepareWrite } = parts
  /** Runs `work`. When it throws, the fact of the refused interaction is emitted. */
  const audited = async <T>(interaction: Interaction, work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (!isContention(error)) await emitRefused(run, request, interaction, error)
      throw error
    }
  }
  return {
    async rule(wanted: SessionChange, at: number): Promise<Ruled> {
      const addressed = addressOf(parts, view, toAsked(request, wanted, gone), wanted)
      const { interaction } = addressed
      return audited(interaction, async () => {
        const ruling = await authorize(run, request, interaction)
        return { at, wanted, addressed, ruling, guard: await guardChange(view, request, ruling, interaction) }
      })
    },
    async locate(one: Ruled): Promise<Located> {
      const { wanted, addressed, guard } = one
      const { interaction } = addressed
      return audited(interaction, async () => {
        const json = jsonOf(wanted)
        // Each attempt makes its own bytes, because they may be transferred to a thread.
        const read = (id: string | undefined): unknown =>
          json === undefined
            ? undefined
            : prepareWrite.body(view, request, { type: wanted.type, id, guard }, Buffer.from(json))
        const body = await read(interaction.id)
        const target = await addressed.locate(body)
        const isFoundOnly = wanted.kind === 'update' && interaction.id === undefined && target.found !== undefined
        return { ...one, target, body: isFoundOnly ? await read(target.id) : body }
      })
    },
    async prepare(one: Located): Promise<Ready> {
      const { addressed, target, guard, ruling, body } = one
      return audited(interactionAbout(addressed, target), async () => {
        const prepared = await addressed.prepare(guard, target, body, ruling)
        if (prepared.change === undefined) return { ...one, prepared }
        return { ...one, prepared: { ...prepared, change: await prepareWrite.change(view, request, prepared.change) } }
      })
    },
    audited,
  }
}

/** The second of two changes of the same resource; R4 does not allow that in a transaction. */
const findTwice = (located: readonly Located[]): Located | undefined => {
  const seen = new Set<string>()
  return located.find((one) => {
    const { target, wanted } = one
    if (target.id === '' || (wanted.kind === 'create' && target.found !== undefined)) return false
    const isTwice = seen.has(keyOf(one))
    seen.add(keyOf(one))
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
      const made = await write.apply(transaction, prepared.change)
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
    const ruled: Ruled[] = []
    for (const [at, wanted] of changes.entries()) ruled.push(await steps.rule(wanted, at))
    const isDeletion = ({ wanted }: Ruled): boolean => wanted.kind === 'delete'

    const locateAll = async (): Promise<readonly Located[]> => {
      gone.clear()
      const located: Located[] = []
      for (const { wanted } of ruled)
        if (wanted.kind === 'delete' && wanted.id !== undefined) gone.add(`${wanted.type}/${wanted.id}`)
      for (const one of ruled.filter(isDeletion)) located.push(await steps.locate(one))
      for (const one of located) gone.add(keyOf(one))
      for (const one of ruled) if (!isDeletion(one)) located.push(await steps.locate(one))
      return located.sort(inOrder)
    }
    return retryOnContention(parts, async () => {
      const located = await locateAll()
      const twice = findTwice(located)
      if (twice !== undefined)
        await steps.audited(interactionAbout(twice.addressed, twice.target), () => {
          throw SessionTwice(keyOf(twice))
        })
      const ready: Ready[] = []
      for (const one of located) ready.push(await steps.prepare(one))
      const progress: CurrentChange = { interaction: undefined }
      const work = async (transaction: Transaction) => {
        progress.interaction = undefined
        const applied = await applyAll(parts, opened, transaction, ready, progress)
        await beside?.(transaction, applied.made)
        return applied
      }
      const isLong = isLongWrite(ready.flatMap(({ prepared }) => changesOf(prepared)))
      const { changed, made } = await parts.database.transact(work, { isLong }).catch(async (error) => {
        const { interaction } = progress
        if (interaction !== undefined && !isContention(error)) await emitRefused(view.run, request, interaction, error)
        throw error
      })
      await parts.write.committed(changed)
      return made
    })
  }
}
