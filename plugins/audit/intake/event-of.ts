/** A fact, or a request that was refused before anybody knew what it asks for, as an event. */
import type { AuditFact, RequestContext } from '../../../kernel/index.ts'
import type { TrailEvent } from '../event.ts'

// What else an address may hold, a client wrote: it may be anything, and is not kept.
const ID = /^[A-Za-z0-9\-.]{1,64}$/
const RESOURCE = /^\/([A-Z][A-Za-z]{1,63})(?:\/([A-Za-z0-9\-.]{1,64}))?(?:[/?]|$)/

const idOf = (id: string | undefined): string | undefined => (id !== undefined && ID.test(id) ? id : undefined)

const callOf = ({ caller, address, id }: RequestContext) => ({
  client: caller.client,
  user: caller.user,
  tokenId: caller.tokenId,
  address: address === '' ? undefined : address,
  request: id,
})

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
  patients: details?.patients?.bind(details),
  operation: interaction.operation,
  query: withQuery ? details?.query?.bind(details) : undefined,
  ...callOf(request),
})

/** Of the address no more than what looks like a type and an id. */
export const eventOfRefusal = (request: RequestContext, status: number): TrailEvent => {
  const [, type, id] = RESOURCE.exec(request.url) ?? []
  return { at: request.startedAt, kind: 'request', status, type, id, operation: request.method, ...callOf(request) }
}
