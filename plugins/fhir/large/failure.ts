/** A ServerError as plain data, so that it can be sent between threads. */
import { type ErrorExtras, type IssueCode, isServerError, ServerError } from '../../../kernel/index.ts'

export interface Failure {
  readonly key: string
  readonly status: number
  readonly code: IssueCode
  readonly message: string
  readonly extras: Pick<ErrorExtras, 'headers' | 'expression' | 'issues'>
}

/** Undefined for an unexpected error, which is a bug in the server. */
export const toFailure = (error: unknown): Failure | undefined => {
  if (!isServerError(error)) return undefined
  const { key, status, code, message, extras } = error
  const { headers, expression, issues } = extras
  return {
    key,
    status,
    code,
    message,
    extras: {
      ...(headers === undefined ? {} : { headers }),
      ...(expression === undefined ? {} : { expression }),
      ...(issues === undefined ? {} : { issues }),
    },
  }
}

export const fromFailure = ({ key, status, code, message, extras }: Failure): ServerError =>
  new ServerError(key, status, code, message).with(extras)
