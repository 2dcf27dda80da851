/** Whether a source is the reason why a pull did not end. */
import { isServerError, type ServerError } from '../../../kernel/index.ts'
import { PullAway, PullRefused } from '../errors.ts'

const KEYS: ReadonlySet<string> = new Set([PullAway.key, PullRefused.key])

export const isPullError = (error: unknown): error is ServerError => isServerError(error) && KEYS.has(error.key)
