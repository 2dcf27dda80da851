/**
 * Direct answers: reads from memory, and searches of a type, are answered in front of the router when they are
 * synchronous.
 */
import type { IncomingMessage } from 'node:http'
import type { DirectAnswer, DirectRoute, RequestContext } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { StartedFhir } from '../compose.ts'
import type { PathParams } from '../interactions/request.ts'
import { toHttpResponse, toXmlResponse } from '../response/respond.ts'
import { xmlFormOf } from '../xml/xml-form.ts'

const interact = (
  { interactions, view, xml }: StartedFhir,
  name: 'read' | 'search',
  ctx: RequestContext,
  { headers, url = '' }: IncomingMessage,
  params: PathParams,
  current?: StoredVersion,
): MaybePromise<DirectAnswer> => {
  const asked = { ctx, headers, method: 'GET', url, params, ...(current && { current }) }
  const answer = interactions.perform(view, name, asked)
  const form = xmlFormOf(asked)
  // A promise is sent through the router.
  return chain(answer, (one) =>
    form === undefined ? toHttpResponse(asked, one) : toXmlResponse(asked, one, xml, form),
  )
}

/**
 * Only the plain path of a resource is looked up in memory. Other spellings, and paths with a query, go to the router.
 */
const read = (server: () => StartedFhir): DirectRoute<StoredVersion> => ({
  path: '/:type/:id',
  meet: (url) => server().getCurrent(url.slice(1)),
  answer(ctx, current, request) {
    return interact(server(), 'read', ctx, request, { type: current.type, id: current.id }, current)
  },
})

/** When a search turns out to be asynchronous, the router finishes it. */
const search = (server: () => StartedFhir): DirectRoute<string> => ({
  path: '/:type',
  meet(url) {
    const end = url.indexOf('?')
    if (end === -1) return undefined
    const type = url.slice(1, end)
    return server().catalog.types.has(type) ? type : undefined
  },
  answer: (ctx, type, request) => interact(server(), 'search', ctx, request, { type }),
})

export const directRoutes = (server: () => StartedFhir): readonly DirectRoute<any>[] => [read(server), search(server)]
