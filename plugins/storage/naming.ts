/** Names the patients of a refused change, so that the audit trail shows whose data the refusal told something about. */
import { type ErrorExtras, isServerError } from '../../kernel/index.ts'
import type { MaybePromise } from '../database/service.ts'

/** Runs `work`; a refusal that it throws names `patients`, unless it names others already. */
export const naming = <T>(
  work: () => MaybePromise<T>,
  patients: NonNullable<ErrorExtras['patients']>,
): MaybePromise<T> => {
  const fail = (error: unknown): never => {
    throw isServerError(error) && error.extras.patients === undefined ? error.with({ patients }) : error
  }
  try {
    const done = work()
    return done instanceof Promise ? done.catch(fail) : done
  } catch (error) {
    return fail(error)
  }
}
