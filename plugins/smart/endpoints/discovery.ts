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
import { ALG } from '../keys/signing-key.ts'
import { CONTEXT_SCOPES } from '../scopes/parse-scope.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const AUTH_METHODS = ['private_key_jwt', 'client_secret_basic']

const scopesOf = (level: string): readonly string[] =>
  ['rs', 'cruds', 'read', 'write', '*'].map((rights) => `${level}/*.${rights}`)

const ALWAYS = {
  token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGS,
  introspection_endpoint_auth_methods_supported: AUTH_METHODS,
  introspection_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGS,
  revocation_endpoint_auth_methods_supported: [...AUTH_METHODS, 'none'],
  revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGS,
  // SMART requires this member, also where there is no authorization endpoint.
  code_challenge_methods_supported: ['S256'],
}

const WITHOUT_LOGIN = {
  token_endpoint_auth_methods_supported: ['private_key_jwt'],
  grant_types_supported: ['client_credentials'],
  response_types_supported: [],
  scopes_supported: scopesOf('system'),
  capabilities: ['client-confidential-asymmetric', 'permission-v1', 'permission-v2'],
}

const WITH_LOGIN = {
  token_endpoint_auth_methods_supported: [...AUTH_METHODS, 'none'],
  grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  scopes_supported: [...CONTEXT_SCOPES, ...['patient', 'user', 'system'].flatMap(scopesOf)],
  capabilities: [
    ...['launch-ehr', 'launch-standalone', 'authorize-post'],
    ...['client-public', 'client-confidential-symmetric', 'client-confidential-asymmetric', 'sso-openid-connect'],
    ...['context-ehr-patient', 'context-ehr-encounter', 'context-standalone-patient', 'context-standalone-encounter'],
    ...['permission-offline', 'permission-online', 'permission-patient', 'permission-user'],
    ...['permission-v1', 'permission-v2'],
  ],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: [ALG],
  claims_supported: ['iss', 'sub', 'aud', 'exp', 'iat', 'nonce', 'auth_time', 'fhirUser'],
  prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
  authorization_response_iss_parameter_supported: true,
  claims_parameter_supported: false,
  request_parameter_supported: false,
  // OpenID Connect Discovery: it counts as supported when this is left out.
  request_uri_parameter_supported: false,
}

const documentOf = (request: RequestContext, hasLogin: boolean): object => {
  const issuer = issuerOf(request)
  return {
    issuer,
    jwks_uri: `${issuer}${PATHS.jwks}`,
    ...(hasLogin && { authorization_endpoint: `${issuer}${PATHS.authorize}` }),
    token_endpoint: `${issuer}${PATHS.token}`,
    registration_endpoint: `${issuer}${PATHS.register}`,
    introspection_endpoint: `${issuer}${PATHS.introspect}`,
    revocation_endpoint: `${issuer}${PATHS.revoke}`,
    ...ALWAYS,
    ...(hasLogin ? WITH_LOGIN : WITHOUT_LOGIN),
  }
}

/** The path of the issuer, which clients append to the well-known path: RFC 8414, section 3.1. */
const pathOf = (request: RequestContext): string => new URL(issuerOf(request)).pathname.replace(/\/$/, '')

const send = (reply: FastifyReply, body: object, seconds: number): FastifyReply =>
  reply.headers({ 'content-type': JSON_TYPE, 'cache-control': `public, max-age=${seconds}` }).send(JSON.stringify(body))

const DOCUMENT_SECONDS = 300

export interface DiscoveryParts {
  readonly keys: Pick<PublishedKeys, 'jwks'>
  /** True where people can log in. */
  readonly hasLogin: boolean
}

export const discoveryRoutes =
  ({ keys, hasLogin }: DiscoveryParts): FastifyPluginCallback =>
  (app, _options, done) => {
    const document = (ctx: RequestContext, reply: FastifyReply): FastifyReply =>
      send(reply, documentOf(ctx, hasLogin), DOCUMENT_SECONDS)
    for (const name of ['smart-configuration', 'openid-configuration'])
      app.get(`/.well-known/${name}`, ({ ctx }, reply) => document(ctx, reply))
    // Behind a proxy that forwards such paths unchanged, requests arrive in the long form, which ends with the issuer's
    // path.
    app.get('/.well-known/oauth-authorization-server', ({ ctx }, reply) => document(ctx, reply))
    app.get('/.well-known/oauth-authorization-server/*', ({ ctx, params }, reply) => {
      if (`/${(params as { '*': string })['*']}` !== pathOf(ctx)) throw NoSuchRoute()
      return document(ctx, reply)
    })
    app.get(PATHS.jwks, { config: { relay: true } }, (_request, reply) => send(reply, keys.jwks(), JWKS_SECONDS))
    done()
  }
