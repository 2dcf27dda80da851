/**
 * Discovery documents, which clients read before they have a token, and the public keys. The documents list only what
 * this server offers. SMART App Launch, "Conformance"; RFC 8414; OpenID Connect Discovery.
 */
import type { FastifyPluginCallback, FastifyReply } from 'fastify'
import { NoSuchRoute, type RequestContext } from '../../../kernel/index.ts'
import { ASSERTION_ALGS } from '../clients/public-jwk.ts'
import { issuerOf, PATHS } from '../issuer.ts'
import type { PublishedKeys } from '../keys/published-keys.ts'
import { JWKS_SECONDS } from '../keys/rotation.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const AUTH_METHODS = ['private_key_jwt', 'client_secret_basic']

const documentOf = (request: RequestContext): object => {
  const issuer = issuerOf(request)
  return {
    issuer,
    jwks_uri: `${issuer}${PATHS.jwks}`,
    token_endpoint: `${issuer}${PATHS.token}`,
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGS,
    registration_endpoint: `${issuer}${PATHS.register}`,
    introspection_endpoint: `${issuer}${PATHS.introspect}`,
    introspection_endpoint_auth_methods_supported: AUTH_METHODS,
    introspection_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGS,
    revocation_endpoint: `${issuer}${PATHS.revoke}`,
    revocation_endpoint_auth_methods_supported: [...AUTH_METHODS, 'none'],
    revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGS,
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    scopes_supported: ['system/*.rs', 'system/*.cruds', 'system/*.read', 'system/*.write', 'system/*.*'],
    // SMART requires this member. There is no authorization endpoint yet; when there is, it will accept S256 only.
    code_challenge_methods_supported: ['S256'],
    capabilities: ['client-confidential-asymmetric', 'permission-v1', 'permission-v2'],
  }
}

/** The path of the issuer, which clients append to the well-known path: RFC 8414, section 3.1. */
const pathOf = (request: RequestContext): string => new URL(issuerOf(request)).pathname.replace(/\/$/, '')

const send = (reply: FastifyReply, body: object, seconds: number): FastifyReply =>
  reply.headers({ 'content-type': JSON_TYPE, 'cache-control': `public, max-age=${seconds}` }).send(JSON.stringify(body))

const DOCUMENT_SECONDS = 300

export const discoveryRoutes =
  (keys: Pick<PublishedKeys, 'jwks'>): FastifyPluginCallback =>
  (app, _options, done) => {
    for (const name of ['smart-configuration', 'openid-configuration'])
      app.get(`/.well-known/${name}`, ({ ctx }, reply) => send(reply, documentOf(ctx), DOCUMENT_SECONDS))
    // Behind a proxy that forwards such paths unchanged, requests arrive in the long form, which ends with the issuer's
    // path.
    app.get('/.well-known/oauth-authorization-server', ({ ctx }, reply) =>
      send(reply, documentOf(ctx), DOCUMENT_SECONDS),
    )
    app.get('/.well-known/oauth-authorization-server/*', ({ ctx, params }, reply) => {
      if (`/${(params as { '*': string })['*']}` !== pathOf(ctx)) throw NoSuchRoute()
      return send(reply, documentOf(ctx), DOCUMENT_SECONDS)
    })
    app.get(PATHS.jwks, (_request, reply) => send(reply, keys.jwks(), JWKS_SECONDS))
    done()
  }
