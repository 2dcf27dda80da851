/** The reads of a session. Each call is an interaction as over HTTP, authorized and audited in dispatch.ts. */
import type { Interaction } from '../../../kernel/index.ts'
import { typeOf } from '../../model/service.ts'
import { type Registry, type SearchEntry, toMatcher, toSubject } from '../../search/service.ts'
import { type AuditDetails, detailsOfPage } from '../audit-details.ts'
import { authorize, dispatchRead, emitRefused } from '../dispatch.ts'
import { checkOwnedSearch } from '../interactions/check-owned-read.ts'
import type { ServerOwnedTypes } from '../interactions/owned-types.ts'
import { readVisible } from '../interactions/read-seen.ts'
import { type AsOfParts, createAsOf } from './as-of.ts'
import { matchingOf, readPaged, readSelecting } from './criteria.ts'
import { toHeld } from './held.ts'
import { createHistory, type HistoryParts } from './history.ts'
import type { Seat } from './seat.ts'
import type { CurrentResource, SessionReads } from './session.ts'
import { createStream, type StreamParts } from './stream.ts'

const nobody = (): readonly string[] => []

const PAGE_PARAMETER = '_page='

/** The page token in a link. */
const pageIn = (url: string): string => url.slice(url.lastIndexOf(PAGE_PARAMETER) + PAGE_PARAMETER.length)

export interface SessionReadsParts extends StreamParts, HistoryParts, AsOfParts {
  readonly registry: Registry
  readonly audit: AuditDetails
  readonly owned: Pick<ServerOwnedTypes, 'readElsewhere' | 'checkRead'>
}

/** `parts` returns the parts once the server has started. */
export const createReads = (parts: () => SessionReadsParts, seat: Seat): SessionReads => ({
  async read(type, id, version) {
    const { audit, catalog } = parts()
    const { view, request } = seat.open()
    const { name } = typeOf({ catalog }, type)
    const kind = version === undefined ? 'read' : 'vread'
    return dispatchRead(view.run, request, { kind, type: name, id, version }, async (ruling) => {
      const found = await readVisible(view, request, ruling, name, id, version)
      seat.shown?.([found])
      const details = audit.of(view.run, found, request.ownUrl)
      return { result: toHeld(found), status: 200, version: found.version, details }
    })
  },
  async search(type, query, { after } = {}) {
    const { audit, owned } = parts()
    checkOwnedSearch(owned, type, query)
    const { view, request } = seat.open()
    const scope = view.search.scope({ type })
    return dispatchRead(view.run, request, { kind: 'search-type', type: scope.type }, async (ruling) => {
      const { asked, shown } = readPaged(query, after)
      const found = { context: request, scope, request: asked, ruling, lenient: false, shown }
      const { entries, total, links, issues } = await view.search.page(found)
      const versions = entries.map(({ version }) => version)
      seat.shown?.(versions)
      const heldAs = (mode: SearchEntry['mode']): readonly CurrentResource[] =>
        entries.filter((entry) => entry.mode === mode).map(({ version }) => toHeld(version))
      const next = links.find(({ relation }) => relation === 'next')
      const result = {
        matches: heldAs('match'),
        included: heldAs('include'),
        total,
        next: next === undefined ? undefined : pageIn(next.address),
        issues,
      }
      const patients = audit.patientsLater(versions, request.ownUrl)
      return { result, status: 200, details: detailsOfPage(view.run, patients, query) }
    })
  },
  stream: createStream(parts, seat),
  asOf: createAsOf(parts, seat),
  history: createHistory(parts, seat),
  async matches(type, query) {
    const { catalog, registry, owned } = parts()
    checkOwnedSearch(owned, type, query)
    const { view, request } = seat.open()
    const { name } = typeOf({ catalog }, type)
    const pairs = readSelecting(query)
    return dispatchRead(view.run, request, { kind: 'search-type', type: name }, async (ruling) => {
      // Read before the first wait, because the definitions of parameters may change meanwhile.
      const { state } = registry
      const { conditions, areCurrent } = await matchingOf(catalog, view, request, ruling, name, pairs)
      const result = toMatcher(registry, { type: name, pairs, ruling, state, conditions, areCurrent })
      return { result, status: 200, details: detailsOfPage(view.run, nobody, query) }
    })
  },
  subject: (of, resource) => toSubject(parts().registry, of, resource),
  async ruling(type, { isAsked = true } = {}) {
    const { catalog } = parts()
    const { view, request } = seat.open()
    const interaction: Interaction = { kind: 'search-type', type: typeOf({ catalog }, type).name }
    try {
      return (await authorize(view.run, request, interaction)).restrictions
    } catch (error) {
      if (isAsked) await emitRefused(view.run, request, interaction, error)
      throw error
    }
  },
})
