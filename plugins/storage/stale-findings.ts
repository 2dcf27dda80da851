/** The error of a change whose findings are outdated: another version, or other index columns, than a thread has seen. */
import { isServerError, type ServerError } from '../../kernel/index.ts'
import { Contended } from './errors.ts'

const DETAIL = 'what a thread has found of a large resource is outdated'

/** Contended, after which the change is prepared again. It has not waited for a lock. */
export const StaleFindings = (): ServerError => Contended().with({ detail: DETAIL })

export const isStaleFindings = (error: unknown): boolean =>
  isServerError(error) && error.key === Contended.key && error.extras.detail === DETAIL
