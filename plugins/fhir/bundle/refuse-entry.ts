/** Emits the fact of an entry that is refused before its interaction is known. */
import {
  type Interaction,
  type RequestContext,
  type Runners,
  type ServerError,
  toServerError,
} from '../../../kernel/index.ts'
import { emitRefused } from '../dispatch.ts'
import type { BundleEntry, RefusedEntry } from './bundle-request.ts'

const RESOURCE = /^\/?([A-Z][A-Za-z]{1,63})(?:\/([A-Za-z0-9\-.]{1,64}))?(?:[/?]|$)/

/** Takes from the URL only what looks like a type and an id, as for the address of a request. */
const interactionOf = (
  { baseUrl }: RequestContext,
  { index, method, url = '' }: BundleEntry | RefusedEntry,
): Interaction => {
  const [, type, id] = RESOURCE.exec(url.startsWith(`${baseUrl}/`) ? url.slice(baseUrl.length) : url) ?? []
  return { kind: 'request', type, id, operation: method, entry: index }
}

/**
 * `known` is the interaction that the entry's address names. Resolves to the error to answer with: `error`, or the
 * failure of the audit trail when it cannot store the fact.
 */
export const refuseEntry = async (
  run: Runners,
  ctx: RequestContext,
  entry: BundleEntry | RefusedEntry,
  error: ServerError,
  known?: Interaction | undefined,
): Promise<ServerError> => {
  try {
    await emitRefused(run, ctx, known ?? interactionOf(ctx, entry), error)
    return error
  } catch (failure) {
    return toServerError(failure)
  }
}
