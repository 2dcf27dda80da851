/** Makes an event of a fact, or of a request that was refused before its interaction was known. */
import type { AuditFact, FactDetails, RequestContext } from '../../../kernel/index.ts'
import type { TrailEvent } from '../event.ts'

// Other text in the URL was written by the client and may be anything, so it is not stored.
const ID = /^[A-Za-z0-9\-.]{1,64}$/
const RESOURCE = /^\/([A-Z][A-Za-z]{1,63})(?:\/([A-Za-z0-9\-.]{1,64}))?(?:[/?]|$)/

/** `number` of a refusal about a hidden resource. */
const HIDDEN = 1

const idOf = (id: string | undefined): string | undefined => (id !== undefined && ID.test(id) ? id : undefined)

const addressOf = ({ address }: RequestContext): string | undefined => (address === '' ? undefined : address)

const withoutQuery = (details: FactDetails): FactDetails =>
  details.query === undefined ? details : { patients: () => details.patients?.() ?? [] }

/** The conditions of scopes are search parameters: `?` is all that stays of them. */
const withoutConditions = (scopes: string): string => scopes.replaceAll(/\?\S*/g, '?')

/** Scopes are stored where other events have the search parameters. */
const detailsOf = (details: FactDetails, withQuery: boolean): FactDetails => {
  const { scopes, patients } = details
  if (scopes === undefined) return withQuery ? details : withoutQuery(details)
  return {
    patients: () => patients?.() ?? [],
    query: () => (withQuery ? scopes() : withoutConditions(scopes())),
  }
}

/** Lists the members one by one, because it runs for each read and an intermediate object would take longer. */
export const eventOf = (
  { request, interaction, status, version, hidden, details }: AuditFact,
  withQuery: boolean,
): TrailEvent => ({
  at: request.startedAt,
  kind: interaction.kind,
  status,
  type: interaction.type,
  id: idOf(interaction.id),
  // A resource that never existed has version 0.
  version: version === 0 ? undefined : (version ?? interaction.version),
  details: details && detailsOf(details, withQuery),
  client: request.caller.client,
  user: request.caller.user,
  tokenId: request.caller.tokenId,
  address: addressOf(request),
  request: request.id,
  operation: interaction.operation,
  number: status < 400 ? details?.count : hidden === true ? HIDDEN : undefined,
})

/** Takes from the URL only what looks like a type and an id. */
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
