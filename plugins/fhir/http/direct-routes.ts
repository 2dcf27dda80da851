/** Reads of what lies in memory, and searches of types, answered in front of the router where that takes one turn. */
import type { IncomingMessage } from 'node:http'
import type { DirectAnswer, DirectRoute, RequestContext } from '../../../kernel/index.ts'
import { andThen, type Eventually } from '../../database/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { perform } from '../interactions/perform.ts'
import type { AskedParams } from '../interactions/request.ts'
import type { FhirServer } from '../parts.ts'
import { toHttp } from '../response/respond.ts'

const interact = (
  server: FhirServer,
  name: 'read' | 'search',
  ctx: RequestContext,
  { headers, url = '' }: IncomingMessage,
  params: AskedParams,
  current?: StoredVersion,
): Eventually<DirectAnswer> => {
  const asked = { ctx, headers, method: 'GET', url, params, ...(current && { current }) }
  return andThen(perform(server, name, asked), (answer) => toHttp(asked, answer))
}

/** Another spelling of an address, or one with a query, is not found in memory. */
const read = (server: () => FhirServer): DirectRoute<StoredVersion> => ({
  path: '/:type/:id',
  meet: (url) => server().store.current(url.slice(1)),
  answer(ctx, current, request) {
    return interact(server(), 'read', ctx, request, { type: current.type, id: current.id }, current)
  },
})

/** One that has to wait is finished by the router. */
const search = (server: () => FhirServer): DirectRoute<string> => ({
  path: '/:type',
  meet(url) {
    const end = url.indexOf('?')
    if (end === -1) return undefined
    const type = url.slice(1, end)
    return server().catalog.types.has(type) ? type : undefined
  },
  answer: (ctx, type, request) => interact(server(), 'search', ctx, request, { type }),
})

export const directRoutes = (server: () => FhirServer): readonly DirectRoute<any>[] => [read(server), search(server)]
