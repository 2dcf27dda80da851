/** The reading half of a session: each call is an interaction of HTTP, ruled on and told by the one dispatch. */
import type { Interaction } from '../../../kernel/index.ts'
import { typeOf } from '../../model/service.ts'
import { findPage, type SearchEntry, scopeOf, toMatcher, toSubject } from '../../search/service.ts'
import { auditDetailsOf, patientsOf, withAuditDetails } from '../audit-details.ts'
import { authorize, dispatchRead, emitRefused } from '../dispatch.ts'
import { readVisible } from '../interactions/read-seen.ts'
import { matchingOf, readPaged, readSelecting } from './criteria.ts'
import { toHeld } from './held.ts'
import { createHistory } from './history.ts'
import type { Seat } from './seat.ts'
import type { CurrentResource, SessionReads } from './session.ts'
import { createStream } from './stream.ts'

const PAGE_PARAMETER = '_page='

/** The token in a link to a page. */
const pageIn = (url: string): string => url.slice(url.lastIndexOf(PAGE_PARAMETER) + PAGE_PARAMETER.length)

export const createReads = (seat: Seat): SessionReads => ({
  async read(type, id, version) {
    const { server, request } = seat.open()
    const { name } = typeOf(server, type)
    const kind = version === undefined ? 'read' : 'vread'
    return dispatchRead(server.run, request, { kind, type: name, id, version }, async (ruling) => {
      const found = await readVisible(server, request, ruling, name, id, version)
      seat.shown?.([found])
      const details = auditDetailsOf(server, found, request.ownUrl)
      return { result: toHeld(found), status: 200, version: found.version, details }
    })
  },
  async search(type, query, { after } = {}) {
    const { server, request } = seat.open()
    const scope = scopeOf(server, { type })
    return dispatchRead(server.run, request, { kind: 'search-type', type: scope.type }, async (ruling) => {
      const { asked, shown } = readPaged(query, after)
      const found = { context: request, scope, request: asked, ruling, lenient: false, shown }
      const { entries, total, links, issues } = await findPage(server, found)
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
      const patients = (): readonly string[] => patientsOf(server, versions, request.ownUrl)
      return { result, status: 200, ...withAuditDetails(server, patients, () => query) }
    })
  },
  stream: createStream(seat),
  history: createHistory(seat),
  async matches(type, query) {
    const { server, request } = seat.open()
    const { name } = typeOf(server, type)
    const pairs = readSelecting(query)
    return dispatchRead(server.run, request, { kind: 'search-type', type: name }, async (ruling) => {
      // Taken first: what parameters mean may change while this waits.
      const { registry } = server.search
      const { state } = registry
      const { conditions, areCurrent } = await matchingOf(server, request, ruling, name, pairs)
      const result = toMatcher(registry, { type: name, pairs, ruling, state, conditions, areCurrent })
      return {
        result,
        status: 200,
        ...withAuditDetails(
          server,
          () => [],
          () => query,
        ),
      }
    })
  },
  subject: (of, resource) => toSubject(seat.open().server.search.registry, of, resource),
  async ruling(type) {
    const { server, request } = seat.open()
    const interaction: Interaction = { kind: 'search-type', type: typeOf(server, type).name }
    try {
      return (await authorize(server.run, request, interaction)).restrictions
    } catch (error) {
      await emitRefused(server.run, request, interaction, error)
      throw error
    }
  },
})
