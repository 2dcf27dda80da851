/**
 * POST /oauth/introspect: returns whether a token is active, its scopes, client and times. RFC 7662; SMART App Launch,
 * "Token introspection".
 */
import type { Clock } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { Resources } from '../../fhir/service.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { BUILT_IN } from '../clients/client.ts'
import { contextOf } from '../grants/launch-context.ts'
import { issuerOf, PATHS, tokenUrlOf } from '../issuer.ts'
import { InvalidClient, InvalidRequest } from '../oauth-errors.ts'
import { mayKeep, patientAccessOf } from '../people/patient-access.ts'
import { personOf } from '../people/person.ts'
import { isAlive, readToken } from '../tokens/access-tokens.ts'
import type { FormEndpoint } from './mount-oauth.ts'

export interface IntrospectionParts {
  readonly database: Database
  readonly clock: Clock
  readonly resources: Resources
  readonly authenticateClient: AuthenticateClient
}

const INACTIVE = { status: 200, body: { active: false } }
/** The launch context, and who has logged in, if the ID token of the client says it. */
const aboutPerson = (scope: string, person: string, context: string, issuer: string): object => {
  const scopes = scope.split(' ')
  const { subject, fhirUser } = personOf(person)
  const isDisclosed = scopes.includes('openid')
  return {
    ...contextOf(context),
    ...(isDisclosed && { sub: subject }),
    ...(isDisclosed && scopes.includes('fhirUser') && fhirUser !== undefined && { fhirUser: `${issuer}/${fhirUser}` }),
  }
}
const toSeconds = (ms: number): number => Math.floor(ms / 1000)

export const introspectionEndpoint = (parts: IntrospectionParts): FormEndpoint => ({
  path: PATHS.introspect,
  operation: 'introspect',
  // Only refusals are audited: resource servers call this for each request that they receive.
  audited: false,
  async answer(ctx, form) {
    const { database, clock, authenticateClient } = parts
    const client = await authenticateClient({ ctx, form, tokenUrl: tokenUrlOf(ctx) })
    // A public client proves nothing: anybody can send its id.
    if (client.metadata.token_endpoint_auth_method === 'none') throw InvalidClient()
    const token = form.get('token')
    if (token === undefined) throw InvalidRequest('token is missing')
    const row = await readToken(database, token)
    // The built-in client is used by servers that receive tokens of other clients, so it sees every token. Other
    // clients see only their own.
    const isShown = row !== undefined && (client.id === BUILT_IN || row.client_id === client.id)
    if (!isShown || !isAlive(row, clock, BUILT_IN)) return INACTIVE
    const { person, context } = row
    if (person !== null && context !== null) {
      const access = await patientAccessOf(parts, ctx, personOf(person))
      if (!mayKeep(access, contextOf(context))) return INACTIVE
    }
    return {
      status: 200,
      body: {
        active: true,
        scope: row.scope,
        client_id: row.client_id,
        token_type: 'Bearer',
        iat: toSeconds(Number(row.iat)),
        exp: toSeconds(Number(row.expires_at)),
        iss: issuerOf(ctx),
        ...(person !== null && context !== null && aboutPerson(row.scope, person, context, issuerOf(ctx))),
      },
    }
  },
})
