/**
 * Authenticates the client of a request to an OAuth endpoint. The request must use exactly one method, the one that the
 * client has registered. RFC 6749, section 2.3
 */
import type { RequestContext, ServerError } from '../../../kernel/index.ts'
import type { AuthFailureLimit } from '../../limits/service.ts'
import type { AuthMethod, Client } from '../clients/client.ts'
import type { Clients } from '../clients/clients.ts'
import type { Form } from '../endpoints/form.ts'
import { InvalidClient, InvalidGrant, InvalidRequest } from '../oauth-errors.ts'
import { hashOf, isSameHash } from '../secret.ts'
import { readBasic } from './basic-credentials.ts'
import type { CheckAssertion } from './client-assertion.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export interface AuthenticateClientParts {
  readonly clients: Clients
  readonly checkAssertion: CheckAssertion
  readonly failures: AuthFailureLimit | undefined
}

/** The request whose client is authenticated. `tokenUrl` is the audience that an assertion must name. */
export interface ClientRequest {
  readonly ctx: RequestContext
  readonly form: Form
  readonly tokenUrl: string
}

/**
 * Throws `InvalidClient`, `InvalidRequest`, and 429 after too many failures. A disabled client with the right
 * credentials gets `InvalidGrant` for a refresh token, so that an app asks for a new login, and `InvalidClient` for all
 * else. Sets the client as the caller of the request.
 */
export type AuthenticateClient = (request: ClientRequest) => Promise<Client>

const refusal = (usedBasic: boolean): ServerError =>
  InvalidClient().with(usedBasic ? { headers: { 'www-authenticate': 'Basic realm="oauth"' } } : {})

/**
 * The method that the request uses; undefined when it names no client. Throws `InvalidRequest` when it uses several.
 */
const methodOf = ({ ctx, form }: ClientRequest): AuthMethod | 'client_secret_post' | undefined => {
  const ways: (AuthMethod | 'client_secret_post')[] = []
  if (ctx.headers.authorization !== undefined) ways.push('client_secret_basic')
  if (form.has('client_assertion') || form.has('client_assertion_type')) ways.push('private_key_jwt')
  if (form.has('client_secret')) ways.push('client_secret_post')
  if (ways.length > 1) throw InvalidRequest('it authenticates the client in several ways')
  return ways[0] ?? (form.has('client_id') ? 'none' : undefined)
}

export const createAuthenticateClient = ({
  clients,
  checkAssertion,
  failures,
}: AuthenticateClientParts): AuthenticateClient => {
  const bySecret = async ({ ctx, form }: ClientRequest): Promise<Client | undefined> => {
    const claimed = form.get('client_id')
    for (const { id, secret } of readBasic(ctx.headers.authorization ?? '')) {
      const client = await clients.findRegistered(id)
      const known =
        client?.metadata.token_endpoint_auth_method === 'client_secret_basic' ? client.secretHash : undefined
      const given = hashOf(secret)
      // The same steps for an unknown client, so that the time taken does not reveal which clients exist.
      const other = hashOf(id)
      const isRight = isSameHash(known ?? other, given) && known !== undefined
      if (isRight && (claimed === undefined || claimed === id)) return client
    }
    return undefined
  }
  const byAssertion = async ({ ctx, form, tokenUrl }: ClientRequest): Promise<Client | undefined> => {
    const assertion = form.get('client_assertion')
    if (assertion === undefined || form.get('client_assertion_type') !== ASSERTION_TYPE) return undefined
    const checked = await checkAssertion({ assertion, clientId: form.get('client_id'), tokenUrl })
    if (!('refused' in checked)) return checked
    ctx.log.debug({ reason: checked.refused }, 'an assertion of a client was refused')
    return undefined
  }
  const asPublic = async ({ form }: ClientRequest): Promise<Client | undefined> => {
    const client = await clients.findRegistered(form.get('client_id') ?? '')
    return client?.metadata.token_endpoint_auth_method === 'none' ? client : undefined
  }

  return async (request) => {
    const { ctx } = request
    const method = methodOf(request)
    const tooMany = failures?.begin(ctx)
    if (tooMany !== undefined) throw tooMany
    const client =
      method === 'client_secret_basic'
        ? await bySecret(request)
        : method === 'private_key_jwt'
          ? await byAssertion(request)
          : method === 'none'
            ? await asPublic(request)
            : undefined
    if (client === undefined) throw refusal(method === 'client_secret_basic' || method === undefined)
    if (client.disabledAt !== undefined)
      throw request.form.get('grant_type') === 'refresh_token'
        ? InvalidGrant()
        : refusal(method === 'client_secret_basic')
    failures?.succeeded(ctx)
    // From here on logs, usage counters and the audit trail name this client.
    ctx.caller = { kind: 'client', client: client.id }
    return client
  }
}
