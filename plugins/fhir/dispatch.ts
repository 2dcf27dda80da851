/**
 * The one way into the data: every interaction, single or an entry of a Bundle, is ruled on and leaves a fact for the
 * trail, refused ones too.
 */
import { type Interaction, type RequestContext, Ruling, type Runners, toServerError } from '../../kernel/index.ts'
import { RestrictionUnsupported, TypeForbidden } from './errors.ts'

const NO_RULING = Object.freeze(new Ruling())

/** Asks every `authorize` tap; what they leave open is allowed. */
const rule = async (run: Runners, request: RequestContext, interaction: Interaction): Promise<Ruling> => {
  if (run.authorize === null) return NO_RULING
  const ruling = new Ruling()
  await run.authorize(request, interaction, ruling)
  return ruling
}

/** Applies what can be told without looking at data. What cannot be applied refuses: a guard never fails open. */
const apply = (ruling: Ruling, { type }: Interaction): void => {
  for (const { types, conditions, compartment } of ruling.restrictions) {
    if (types !== undefined && (type === undefined || !types.includes(type))) throw TypeForbidden(type ?? 'every type')
    if (compartment !== undefined || (conditions?.length ?? 0) > 0) throw RestrictionUnsupported()
  }
}

export interface Done<T> {
  readonly result: T
  readonly status: number
  readonly version?: number | undefined
}

/** A read: its fact is told after it, with the version it gave. */
export const read = async <T>(
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  work: () => Done<T> | Promise<Done<T>>,
): Promise<T> => {
  try {
    if (run.authorize !== null) apply(await rule(run, request, interaction), interaction)
    const done = await work()
    if (run.onAudit !== null) await run.onAudit({ request, interaction, status: done.status, version: done.version })
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
  work: () => Promise<T>,
): Promise<T> => {
  try {
    if (run.authorize !== null) apply(await rule(run, request, interaction), interaction)
    return await work()
  } catch (error) {
    if (run.onAudit !== null) await refused(run, request, interaction, error)
    throw error
  }
}

const refused = async (
  run: Runners,
  request: RequestContext,
  interaction: Interaction,
  error: unknown,
): Promise<void> => {
  await run.onAudit?.({ request, interaction, status: toServerError(error).status })
}
