/**
 * The one way into the data: every interaction, single or an entry of a Bundle, is ruled on and leaves a fact for the
 * trail, refused ones too.
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
 * What each interaction needs on its type. A Bundle needs nothing itself, an operation what it declares; a conditional
 * change needs `s` besides, for its search is an interaction of its own.
 */
const RIGHTS: Readonly<Partial<Record<Interaction['kind'], readonly Right[]>>> = {
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

/** Applies what can be told without looking at data; the rest is the work's own to apply. */
const applyRuling = (ruling: Ruling, { kind, type }: Interaction): void => {
  if (type === undefined || ruling.restrictions.length === 0) return
  for (const right of RIGHTS[kind] ?? [])
    if (ruling.extent(type, right) === 'none') throw typeForbidden(ruling, type, right)
}

const EVERY_RIGHT: readonly Right[] = ['c', 'r', 'u', 'd', 's']

/** Throws 403 where an operation may not be invoked on a type; `declared` are the rights it states itself. */
export const checkOperation = (ruling: Ruling, { type, id }: Interaction, declared: Rights | undefined): void => {
  if (type === undefined || ruling.restrictions.length === 0) return
  const isClosed = (right: Right): boolean => ruling.extent(type, right) === 'none'
  const needed = declared === undefined ? (id === undefined ? [] : (['r'] as const)) : ([...declared] as Right[])
  const missing = needed.find(isClosed) ?? (EVERY_RIGHT.every(isClosed) ? 'r' : undefined)
  if (missing !== undefined) throw typeForbidden(ruling, type, missing)
}

/**
 * Asks every `authorize` tap; what they leave open is allowed. Throws their refusal. No promise where all taps are
 * synchronous, so that a restricted read, too, is answered in the turn it arrived in.
 */
export const authorize = (run: Runners, request: RequestContext, interaction: Interaction): MaybePromise<Ruling> => {
  if (run.authorize === null) return NO_RULING
  const ruling = new Ruling()
  const asked: MaybePromise<void> = run.authorize(request, interaction, ruling)
  return chain(asked, () => {
    applyRuling(ruling, interaction)
    return ruling
  })
}

/** For interactions that look at all data of a type, or of all types, without applying a ruling: a guard never fails open. */
export const refuseRestricted = (ruling: Ruling, type: string | undefined): void => {
  const isOpen = type === undefined ? ruling.covers(['r', 's']) : extent(ruling, type, 's') === 'all'
  if (!isOpen) throw RestrictionUnsupported()
}

export interface ReadResult<T> {
  readonly result: T
  readonly status: number
  readonly version?: number | undefined
  readonly details?: FactDetails | undefined
}

const emit = <T>(
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  done: ReadResult<T>,
): MaybePromise<T> => {
  if (run.onAudit === null) return done.result
  const { status, version, details } = done
  const told = run.onAudit({ request, interaction, status, version, details })
  return told === undefined ? done.result : told.then(() => done.result)
}

/**
 * A read: its fact is told after it, with the version it gave. A promise only where something has to be waited for: a
 * hot read is answered in the turn it arrived in.
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
    const told = emit(run, request, interaction, done)
    return told instanceof Promise ? told.catch(refuse) : told
  } catch (error) {
    return refuse(error)
  }
}

/**
 * A change: its fact is told inside its transaction by the write path; here only a refusal is. `work` may say which resource
 * a condition has found, so that the refusal names it.
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

/** The fact of an interaction that was refused. */
export const emitRefused = async (
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  error: unknown,
): Promise<void> => {
  if (run.onAudit === null) return
  const { status, extras } = toServerError(error)
  await run.onAudit({ request, interaction, status, hidden: extras.hidden })
}
