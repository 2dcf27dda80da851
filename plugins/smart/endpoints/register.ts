/**
 * POST /oauth/register: registers a client whose request has the initial access token. RFC 7591; Spec: Authentication
 * 4.
 */
import type { Random } from '../../../kernel/index.ts'
import type { AuthFailureLimit } from '../../limits/service.ts'
import { parseJson } from '../../model/service.ts'
import { readClientMetadata } from '../clients/client-metadata.ts'
import type { Clients } from '../clients/clients.ts'
import { PATHS } from '../issuer.ts'
import { InvalidClientMetadata, InvalidToken } from '../oauth-errors.ts'
import { hashOf, isSameHash } from '../secret.ts'
import type { JsonEndpoint } from './mount-oauth.ts'

export interface RegistrationParts {
  readonly clients: Clients
  readonly random: Random
  readonly failures: AuthFailureLimit | undefined
  /** SHA-256 of the initial access token. */
  readonly initialToken: Uint8Array
  readonly insideHosts: ReadonlySet<string>
}

const readJson = (bytes: Buffer): unknown => {
  try {
    return parseJson(bytes).value
  } catch {
    // The parser's message may quote a secret, so it is not sent.
    throw InvalidClientMetadata('the body is not JSON whose members are given once')
  }
}

export const registrationEndpoint = (parts: RegistrationParts): JsonEndpoint => ({
  path: PATHS.register,
  operation: 'register',
  audited: true,
  async answer(ctx, body) {
    const { clients, random, failures, initialToken, insideHosts } = parts
    const tooMany = failures?.begin(ctx)
    if (tooMany !== undefined) throw tooMany
    const token = /^Bearer +(\S+)$/i.exec(ctx.headers.authorization ?? '')?.[1]
    if (token === undefined || !isSameHash(hashOf(token), initialToken))
      throw InvalidToken().with({
        headers: { 'www-authenticate': token === undefined ? 'Bearer' : 'Bearer error="invalid_token"' },
      })
    failures?.succeeded(ctx)
    const metadata = readClientMetadata(readJson(body), insideHosts)
    const { id, secret, createdAt } = await clients.register(random.id(), metadata)
    ctx.caller = { kind: 'client', client: id }
    return {
      status: 201,
      body: {
        client_id: id,
        client_id_issued_at: Math.floor(createdAt / 1000),
        ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
        ...metadata,
      },
    }
  },
})
