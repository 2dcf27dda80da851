/**
 * Authenticates clients by tokens and refuses all other callers. The settings hold hashes, so make tokens long and
 * random (`openssl rand -hex 32`), and write the output of `printf %s TOKEN | sha256sum` after `desk:`. Another plugin
 * decides in `authorize` what a client may see, for example access-plugin.ts. In a package of its own this plugin
 * imports from 'refhir'.
 */
import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { defineError, definePlugin } from '../kernel/index.ts'
import { Limits } from '../plugins/limits/service.ts'

const TokenInUrl = defineError('tokens/token-in-url', 400, 'security', 'Send the token in the header Authorization.')
const TokenMissing = defineError('tokens/token-missing', 401, 'login', 'This address asks for a token.')
const TokenUnknown = defineError('tokens/token-unknown', 401, 'login', 'The token is not known to this server.')

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')

export default definePlugin({
  name: 'tokens',
  description: 'Clients with tokens',
  api: '^2.0.0',
  config: {
    tokens: Type.Object({
      clients: Type.Array(Type.String({ pattern: '^[^:]+:[0-9a-f]{64}$' }), {
        default: [],
        description: 'Each client with the SHA-256 of its token in hexadecimal, `desk:…`.',
      }),
    }),
  },
  uses: [Limits],
  errors: { TokenInUrl, TokenMissing, TokenUnknown },
  setup({ config: { tokens }, hooks, optional }) {
    const clients = new Map(tokens.clients.map((line) => line.split(':').reverse() as [string, string]))
    const failures = optional(Limits)?.authFailures

    // RFC 6750, 2.3: URLs are stored in logs and histories.
    hooks.beforeRequest.tap('no token in the URL', ({ url }) => {
      if (/[?&]access_token=/.test(url)) throw TokenInUrl()
    })
    hooks.authenticate.tap('look the token up', (request) => {
      const { authorization } = request.headers
      if (authorization === undefined) return undefined
      const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization)?.[1]
      const client = token === undefined ? undefined : clients.get(hashOf(token))
      if (client !== undefined) return { kind: 'client', client }
      throw (
        failures?.begin(request) ??
        TokenUnknown().with({ headers: { 'www-authenticate': 'Bearer error="invalid_token"' } })
      )
    })
    // Clients read /metadata before they have a token.
    hooks.admit.tap('a token is required', ({ caller, route }) =>
      caller.kind === 'anonymous' && route !== '/metadata'
        ? TokenMissing().with({ headers: { 'www-authenticate': 'Bearer' } })
        : undefined,
    )
  },
})
