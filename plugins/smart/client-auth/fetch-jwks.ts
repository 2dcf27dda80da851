/**
 * Fetches a client's public keys from its registered `jwks_uri`. The client has chosen that URL, so redirects are not
 * followed, and a connection to an address that is not public is destroyed before the request is sent, whatever the
 * host name resolved to.
 */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import { isSpecialAddress } from '../../../kernel/index.ts'
import type { ClientJwk } from '../clients/client.ts'
import { jwksFault } from '../clients/public-jwk.ts'
import { jwksUriFault } from '../clients/uri-rules.ts'

const TIMEOUT_MS = 2_500 // from the DNS look-up to the last byte
const MAX_BYTES = 256 * 1024
const DEFAULT_SECONDS = 60
const MAX_SECONDS = 3_600

export interface FetchedJwks {
  readonly keys: readonly ClientJwk[]
  /** How long the keys may be cached, in milliseconds. */
  readonly maxAgeMs: number
}

export type FetchJwks = (uri: string) => Promise<FetchedJwks>

/**
 * How long the answer may be cached, in milliseconds, by Cache-Control and Age; one minute when it has no max-age. RFC
 * 9111, section 5.2.2.
 */
const maxAgeOf = ({ headers }: IncomingMessage): number => {
  const directives = (headers['cache-control'] ?? '').toLowerCase()
  if (/\bno-(store|cache)\b/.test(directives)) return 0
  const seconds = Number(/\bmax-age="?(\d{1,9})\b/.exec(directives)?.[1] ?? DEFAULT_SECONDS)
  const spent = /^\d{1,9}$/.test(headers.age ?? '') ? Number(headers.age) : 0
  return Math.max(0, Math.min(seconds - spent, MAX_SECONDS)) * 1000
}

/**
 * Resolves a host name. Fails when any of its addresses is not public, because the owner of the name could mix public
 * and internal addresses.
 */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  const answer = (found: LookupAddress[]): void => {
    const [first] = found
    if (first === undefined || found.some(({ address }) => isSpecialAddress(address)))
      callback(new Error('the name leads to an address that is not public'), '', 4)
    else if (options.all === true) callback(null, found)
    else callback(null, first.address, first.family)
  }
  lookup(hostname, { all: true, family: options.family ?? 0 }).then(answer, (error) => callback(error, '', 4))
}

const collect = async (response: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const ask = (url: URL, isInside: boolean, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const asked = httpsRequest(
      url,
      // Each fetch opens a new connection: a pooled one might have been opened under other rules.
      {
        agent: false,
        signal,
        headers: { accept: 'application/jwk-set+json, application/json' },
        ...(!isInside && { lookup: publicLookup }),
      },
      resolve,
    )
    asked.on('error', reject)
    asked.on('socket', (socket: Socket) => {
      socket.once('connect', () => {
        if (!isInside && isSpecialAddress(socket.remoteAddress ?? ''))
          asked.destroy(new Error('the connection leads to an address that is not public'))
      })
    })
    asked.end()
  })

/**
 * `insideHosts` are host names that may have addresses that are not public. `deadline` returns a signal that aborts
 * after that many milliseconds.
 */
export const createFetchJwks =
  (insideHosts: ReadonlySet<string>, deadline: (ms: number) => AbortSignal): FetchJwks =>
  async (uri) => {
    const fault = jwksUriFault(uri, insideHosts)
    if (fault !== undefined) throw new Error(fault)
    const url = new URL(uri)
    const response = await ask(url, insideHosts.has(url.hostname), deadline(TIMEOUT_MS))
    try {
      if (response.statusCode !== 200) throw new Error(`the answer has the status ${response.statusCode}`)
      const value: unknown = JSON.parse((await collect(response)).toString('utf8'))
      const wrong = jwksFault(value)
      if (wrong !== undefined) throw new Error(wrong)
      return { keys: (value as { keys: ClientJwk[] }).keys, maxAgeMs: maxAgeOf(response) }
    } finally {
      response.destroy()
    }
  }
