/**
 * The one way into the data: every interaction, single or an entry of a Bundle, is ruled on and leaves a fact for the
 * trail, refused ones too.
 */
import {
  type FactDetails,
  type Interaction,
  type RequestContext,
  Ruling,
  type Runners,
  toServerError,
} from '../../kernel/index.ts'
import type { Eventually } from '../database/service.ts'
import { RestrictionUnsupported, TypeForbidden } from './errors.ts'

const NO_RULING = Object.freeze(new Ruling())

/** Applies what can be told without looking at data; the rest is the work's own to apply. */
const apply = (ruling: Ruling, { type }: Interaction): void => {
  for (const { types } of ruling.restrictions)
    if (types !== undefined && type !== undefined && !types.includes(type)) throw TypeForbidden(type)
}

/** Asks every `authorize` tap; what they leave open is allowed. Throws their refusal. */
export const authorize = async (run: Runners, request: RequestContext, interaction: Interaction): Promise<Ruling> => {
  if (run.authorize === null) return NO_RULING
  const ruling = new Ruling()
  await run.authorize(request, interaction, ruling)
  apply(ruling, interaction)
  return ruling
}

/** The same; at once when nobody rules. */
export const ruleOn = (run: Runners, request: RequestContext, interaction: Interaction): Eventually<Ruling> =>
  run.authorize === null ? NO_RULING : authorize(run, request, interaction)

/** For interactions that look at data without applying a ruling to it: a guard never fails open. */
export const refuseRestricted = ({ restrictions }: Ruling): void => {
  if (restrictions.length > 0) throw RestrictionUnsupported()
}

export interface Done<T> {
  readonly result: T
  readonly status: number
  readonly version?: number | undefined
  readonly details?: FactDetails | undefined
}

const tell = <T>(run: Runners, request: RequestContext, interaction: Interaction, done: Done<T>): Eventually<T> => {
  if (run.onAudit === null) return done.result
  const { status, version, details } = done
  const told = run.onAudit({ request, interaction, status, version, details })
  return told === undefined ? done.result : told.then(() => done.result)
}

/**
 * A read: its fact is told after it, with the version it gave. A promise only where something has to be waited for: a
 * hot read is answered in the turn it arrived in.
 */
export const read = <T>(
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  work: (ruling: Ruling) => Eventually<Done<T>>,
): Eventually<T> => {
  const refuse = async (error: unknown): Promise<never> => {
    await refused(run, request, interaction, error)
    throw error
  }
  const later = async (waited: Promise<Done<T>>): Promise<T> => {
    try {
      return await tell(run, request, interaction, await waited)
    } catch (error) {
      return refuse(error)
    }
  }
  try {
    if (run.authorize !== null) return later(authorize(run, request, interaction).then(work))
    const done = work(NO_RULING)
    if (done instanceof Promise) return later(done)
    const told = tell(run, request, interaction, done)
    return told instanceof Promise ? told.catch(refuse) : told
  } catch (error) {
    return refuse(error)
  }
}

/** A change: its fact is told inside its transaction by the write path; here only a refusal is. */
export const change = async <T>(
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  work: (ruling: Ruling) => Promise<T>,
): Promise<T> => {
  try {
    return await work(run.authorize === null ? NO_RULING : await authorize(run, request, interaction))
  } catch (error) {
    if (run.onAudit !== null) await refused(run, request, interaction, error)
    throw error
  }
}

/** The fact of an interaction that was refused. */
export const refused = async (
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  error: unknown,
): Promise<void> => {
  await run.onAudit?.({ request, interaction, status: toServerError(error).status })
}
