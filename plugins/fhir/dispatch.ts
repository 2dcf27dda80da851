/**
 * Every interaction, single or an entry of a Bundle, passes through here. It is authorized, and what the audit trail records of it
 * (a fact) is emitted, also when it is refused.
 */
import {
  type FactDetails,
  type Interaction,
  type RequestContext,
  type Right,
  type Rights,
  Ruling,
  type Runners,
  toServerError,
} from '../../kernel/index.ts'
import { chain, type MaybePromise } from '../database/service.ts'
import { extent, RestrictionUnsupported, typeForbidden } from '../search/service.ts'

const NO_RULING = Object.freeze(new Ruling()) as Ruling

/**
 * The rights that each interaction needs on its type. A Bundle needs none itself, an operation those that it declares.
 * A conditional change also needs `s`: its search is an interaction of its own.
 */
export const RIGHTS: Readonly<Partial<Record<Interaction['kind'], readonly Right[]>>> = {
  read: ['r'],
  vread: ['r'],
  'history-instance': ['r'],
  'history-type': ['s'],
  'search-type': ['s'],
  create: ['c'],
  update: ['u'],
  patch: ['u', 'r'],
  delete: ['d'],
}

/**
 * Throws 403 when the ruling gives no access to the type at all. Restrictions that depend on data are applied by the
 * interaction itself.
 */
const applyRuling = (ruling: Ruling, { kind, type }: Interaction): void => {
  if (type === undefined || ruling.restrictions.length === 0) return
  for (const right of RIGHTS[kind] ?? [])
    if (ruling.extent(type, right) === 'none') throw typeForbidden(ruling, type, right)
}

const EVERY_RIGHT: readonly Right[] = ['c', 'r', 'u', 'd', 's']

/**
 * Throws 403 when the ruling does not allow an operation on a type. `declared` are the rights that the operation
 * states.
 */
export const checkOperation = (ruling: Ruling, { type, id }: Interaction, declared: Rights | undefined): void => {
  if (type === undefined || ruling.restrictions.length === 0) return
  const isClosed = (right: Right): boolean => ruling.extent(type, right) === 'none'
  const needed = declared === undefined ? (id === undefined ? [] : (['r'] as const)) : ([...declared] as Right[])
  const missing = needed.find(isClosed) ?? (EVERY_RIGHT.every(isClosed) ? 'r' : undefined)
  if (missing !== undefined) throw typeForbidden(ruling, type, missing)
}

/**
 * Calls every `authorize` tap. Everything is allowed that no tap restricts. Throws the refusal of a tap. Returns no
 * promise when all taps are synchronous, so that a restricted read is answered synchronously, too.
 */
export const authorize = (run: Runners, request: RequestContext, interaction: Interaction): MaybePromise<Ruling> => {
  request.hasInteraction = true
  if (run.authorize === null) return NO_RULING
  const ruling = new Ruling()
  const asked: MaybePromise<void> = run.authorize(request, interaction, ruling)
  return chain(asked, () => {
    applyRuling(ruling, interaction)
    return ruling
  })
}

/**
 * Refuses a caller with restricted access. For interactions that read all data of a type, or of all types, and cannot
 * apply a ruling.
 */
export const refuseRestricted = (ruling: Ruling, type: string | undefined): void => {
  const isOpen = type === undefined ? ruling.covers(['r', 's']) : extent(ruling, type, 's') === 'all'
  if (!isOpen) throw RestrictionUnsupported()
}

export interface ReadResult<T> {
  readonly result: T
  readonly status: number
  readonly version?: number | undefined
  readonly details?: FactDetails | undefined
  /** Takes the place of the operation of the interaction. */
  readonly operation?: string | undefined
}

const emit = <T>(
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  done: ReadResult<T>,
): MaybePromise<T> => {
  if (run.onAudit === null) return done.result
  const { status, version, details, operation } = done
  const about = operation === undefined ? interaction : { ...interaction, operation }
  const emitted = run.onAudit({ request, interaction: about, status, version, details })
  return emitted === undefined ? done.result : emitted.then(() => done.result)
}

/**
 * Performs a read, then emits its fact with the version that was read. Returns a promise only when a step is
 * asynchronous, so that a read from memory is answered synchronously.
 */
export const dispatchRead = <T>(
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  work: (ruling: Ruling) => MaybePromise<ReadResult<T>>,
): MaybePromise<T> => {
  const refuse = async (error: unknown): Promise<never> => {
    await emitRefused(run, request, interaction, error)
    throw error
  }
  const later = async (waited: Promise<ReadResult<T>>): Promise<T> => {
    try {
      return await emit(run, request, interaction, await waited)
    } catch (error) {
      return refuse(error)
    }
  }
  try {
    const done = chain(authorize(run, request, interaction), work)
    if (done instanceof Promise) return later(done)
    const emitted = emit(run, request, interaction, done)
    return emitted instanceof Promise ? emitted.catch(refuse) : emitted
  } catch (error) {
    return refuse(error)
  }
}

/**
 * Performs a change. The write path emits its fact inside the transaction; this function emits refusals only. `work`
 * reports the resource that a condition has found, so that the fact of a refusal names it.
 */
export const dispatchChange = async <T>(
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  work: (ruling: Ruling, found: (about: Interaction) => void) => Promise<T>,
): Promise<T> => {
  let about = interaction
  try {
    const ruled = authorize(run, request, interaction)
    return await work(ruled instanceof Promise ? await ruled : ruled, (found) => {
      about = found
    })
  } catch (error) {
    if (run.onAudit !== null) await emitRefused(run, request, about, error)
    throw error
  }
}

/** Emits the fact of a refused interaction. */
export const emitRefused = async (
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  error: unknown,
): Promise<void> => {
  if (run.onAudit === null) return
  const { status, extras } = toServerError(error)
  const { hidden, patients } = extras
  const { ownUrl } = request // not the request: the trail keeps the function until the event is written
  const details = patients === undefined ? undefined : { patients: () => patients(ownUrl) }
  await run.onAudit({ request, interaction, status: request.recordedStatus(status), hidden, details })
}
