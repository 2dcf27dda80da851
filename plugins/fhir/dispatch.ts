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

/** A read: its fact is told after it, with the version it gave. */
export const read = async <T>(
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  work: (ruling: Ruling) => Done<T> | Promise<Done<T>>,
): Promise<T> => {
  try {
    const ruling = run.authorize === null ? NO_RULING : await authorize(run, request, interaction)
    const done = await work(ruling)
    if (run.onAudit !== null) {
      const { status, version, details } = done
      await run.onAudit({ request, interaction, status, version, details })
    }
    return done.result
  } catch (error) {
    if (run.onAudit !== null) await refused(run, request, interaction, error)
    throw error
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
