/** The package oidc-provider on this machine: a real OpenID provider, whose people log in and consent at once. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type ClientMetadata, type Configuration } from 'oidc-provider'

export interface ReferenceProvider {
  readonly issuer: string
  /**
   * What a browser with its own cookies does there: from a URL of the provider, to the first URL outside, or to the
   * answer that redirects nowhere.
   */
  visit(url: string): Promise<string>
  stop(): Promise<void>
}

const ACCOUNT = 'u1'
const MOST_STEPS = 12

/** `claims` are those of every person. */
export const startReferenceProvider = async (
  clients: readonly ClientMetadata[],
  claims: Readonly<Record<string, unknown>> = {},
  more: Configuration = {},
): Promise<ReferenceProvider> => {
  let answer: RequestListener = (_request, response) => void response.writeHead(503).end()
  const server = createServer((request, response) => answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [...clients],
    claims: { openid: ['sub', ...Object.keys(claims)], profile: ['name'] },
    // Without `none` the library takes no authorization request by POST.
    cookies: { keys: [randomBytes(16).toString('hex')], long: { signed: true, sameSite: 'none' } },
    features: { devInteractions: { enabled: false } },
    findAccount: (_ctx, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, name: 'Ann Example', ...claims }),
    }),
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    ...more,
  })
  const interact: RequestListener = async (request, response) => {
    const { prompt, params, grantId: known } = await provider.interactionDetails(request, response)
    if (prompt.name === 'login')
      return provider.interactionFinished(request, response, { login: { accountId: ACCOUNT } })
    const grant =
      (known === undefined ? undefined : await provider.Grant.find(known)) ??
      new provider.Grant({ accountId: ACCOUNT, clientId: String(params.client_id) })
    grant.addOIDCScope(String(params.scope))
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  }
  const handle = provider.callback()
  answer = (request, response) =>
    request.url?.startsWith('/interaction/') ? void interact(request, response) : void handle(request, response)
  return {
    issuer,
    async visit(url) {
      const cookies = new Map<string, string>()
      let at = url
      for (let step = 0; step < MOST_STEPS && at.startsWith(issuer); step += 1) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
        const found = await fetch(at, { redirect: 'manual', headers: { cookie } })
        await found.body?.cancel()
        for (const line of found.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
          cookies.set(name, value)
        }
        const location = found.headers.get('location')
        if (location === null) return at
        at = new URL(location, at).href
      }
      return at
    },
    async stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
