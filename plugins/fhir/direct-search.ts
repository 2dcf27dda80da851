/** A search whose page is kept, answered in front of the router. */
import type { DirectRoute } from '../../kernel/index.ts'
import { andThen } from '../database/service.ts'
import type { Asked } from './interactions/asked.ts'
import { perform } from './interactions/perform.ts'
import { toHttp } from './respond.ts'
import type { FhirServer } from './server.ts'

/** Gives the type. A page that is not good any more is found anew, and what has to be waited for goes on to the router. */
export const directSearch = (server: () => FhirServer): DirectRoute<string> => ({
  path: '/:type',
  meet(url) {
    // Its address may have been another one, such as that of a form without a body.
    const end = url.indexOf('?')
    const type = end < 0 ? undefined : server().search.usual?.peek(url)
    return type !== undefined && end === type.length + 1 && url.startsWith(type, 1) ? type : undefined
  },
  answer(ctx, type, { headers, url = '' }) {
    const asked: Asked = { ctx, headers, method: 'GET', url, params: { type } }
    return andThen(perform(server(), 'search', asked), (answer) => toHttp(asked, answer))
  },
})
