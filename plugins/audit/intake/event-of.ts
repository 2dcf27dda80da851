/** A fact, or a request that was refused before anybody knew what it asks for, as an event. */
import type { AuditFact, FactDetails, RequestContext } from '../../../kernel/index.ts'
import type { TrailEvent } from '../event.ts'

// What else an address may hold, a client wrote: it may be anything, and is not kept.
const ID = /^[A-Za-z0-9\-.]{1,64}$/
const RESOURCE = /^\/([A-Z][A-Za-z]{1,63})(?:\/([A-Za-z0-9\-.]{1,64}))?(?:[/?]|$)/

const idOf = (id: string | undefined): string | undefined => (id !== undefined && ID.test(id) ? id : undefined)

const addressOf = ({ address }: RequestContext): string | undefined => (address === '' ? undefined : address)

const withoutQuery = (details: FactDetails): FactDetails =>
  details.query === undefined ? details : { patients: () => details.patients?.() ?? [] }

/** Member by member: there is one for each read, and two objects would take longer than one. */
export const eventOf = (
  { request, interaction, status, version, details }: AuditFact,
  withQuery: boolean,
): TrailEvent => ({
  at: request.startedAt,
  kind: interaction.kind,
  status,
  type: interaction.type,
  id: idOf(interaction.id),
  // 0 is the version of what never was.
  version: version === 0 ? undefined : (version ?? interaction.version),
  details: details === undefined || withQuery ? details : withoutQuery(details),
  client: request.caller.client,
  user: request.caller.user,
  tokenId: request.caller.tokenId,
  address: addressOf(request),
  request: request.id,
  operation: interaction.operation,
  number: details?.count,
})

/** Of the address no more than what looks like a type and an id. */
export const eventOfRefusal = (request: RequestContext, status: number): TrailEvent => {
  const [, type, id] = RESOURCE.exec(request.url) ?? []
  const { startedAt, caller, method } = request
  return {
    at: startedAt,
    kind: 'request',
    status,
    type,
    id,
    client: caller.client,
    user: caller.user,
    tokenId: caller.tokenId,
    address: addressOf(request),
    request: request.id,
    operation: method,
  }
}
