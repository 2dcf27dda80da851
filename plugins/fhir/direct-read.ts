/** A read of what lies in memory, answered in front of the router. */
import type { DirectRoute } from '../../kernel/index.ts'
import { andThen } from '../database/service.ts'
import type { Asked } from './interactions/asked.ts'
import { perform } from './interactions/perform.ts'
import { toHttp } from './respond.ts'
import type { FhirServer } from './server.ts'
import type { StoredVersion } from './store/version.ts'

/** What it has no use for, such as a query or another spelling of an id, is not found in memory under the whole URL. */
export const directRead = (server: () => FhirServer): DirectRoute<StoredVersion> => ({
  path: '/:type/:id',
  meet: (url) => server().store.current(url.slice(1)),
  answer(ctx, current, { headers, url = '' }) {
    const { type, id } = current
    const asked: Asked = { ctx, headers, method: 'GET', url, params: { type, id }, current }
    return andThen(perform(server(), 'read', asked), (answer) => toHttp(asked, answer))
  },
})
