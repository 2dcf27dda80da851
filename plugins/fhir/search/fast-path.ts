/** A search of a usual shape, answered in the turn it arrived in. */
import type { Ruling } from '../../../kernel/index.ts'
import { andThen, type Eventually } from '../../database/service.ts'
import { findFast } from '../../search/service.ts'
import { checkAccept } from '../http/media.ts'
import { queryOf } from '../interactions/query-of.ts'
import type { Asked } from '../interactions/request.ts'
import type { FhirServer } from '../parts.ts'
import { entriesOf, toKeep, toPage } from './fast-page.ts'
import type { FoundPage } from './searchset-page.ts'

/** Undefined, at once or later, for a search that has to be understood first. */
export const findUsual = (
  server: FhirServer,
  { ctx, headers, url, body }: Asked,
  type: string | undefined,
  ruling: Ruling,
): Eventually<FoundPage | undefined> => {
  if (type === undefined || body instanceof Uint8Array) return undefined
  const found = findFast(
    server,
    { context: ctx, ruling, type, url, query: queryOf(url) },
    {
      takes: (versions) => !versions.some(server.large.concernsVersion),
      show: (versions, count) => entriesOf(server, ctx, versions, count),
      keep: (entries) => toKeep(server, entries),
    },
  )
  return andThen(found, (page) => {
    if (page === undefined) return undefined
    checkAccept(headers.accept, undefined)
    return toPage(server, ctx, page)
  })
}
