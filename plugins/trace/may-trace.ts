/**
 * Who may have traces: callers who may read and search everything. Times and numbers of rows depend on what is stored, also on what
 * is hidden from others.
 */
import { authorizeAdmin, type RequestContext, type Ruling, type Runners } from '../../kernel/index.ts'
import { TraceRestricted } from './errors.ts'

export const OPERATION = '_trace'

const check = (ruling: Ruling): void => {
  if (!ruling.covers(['r', 's'])) throw TraceRestricted()
}

/** Throws, or rejects with, 403. No promise where all taps of `authorize` are synchronous. */
export const checkMayTrace = (run: Runners, request: RequestContext): Promise<void> | void => {
  const ruling = authorizeAdmin(run, request, OPERATION)
  return ruling instanceof Promise ? ruling.then(check) : check(ruling)
}
