/** The fact of an entry that is refused before it is known which interaction it asks for. */
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

/** Of the URL no more than what looks like a type and an id, as for a request of its own. */
const interactionOf = (
  { baseUrl }: RequestContext,
  { index, method, url = '' }: BundleEntry | RefusedEntry,
): Interaction => {
  const [, type, id] = RESOURCE.exec(url.startsWith(`${baseUrl}/`) ? url.slice(baseUrl.length) : url) ?? []
  return { kind: 'request', type, id, operation: method, entry: index }
}

/** `known`: what the address of the entry names. Resolves to the error to answer with, which is another one when the trail takes no events. */
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
