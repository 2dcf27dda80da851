/**
 * GET with an injected fetch, for URLs that an operator configured: a limited number of redirects, credentials for the
 * configured origin only, a time limit for silence, a limit of size. The redirects of Node's own fetch do not suit
 * credentials and packages of an operator: it follows twenty of them, also from https to http.
 */

export interface HttpOptions {
  readonly fetch: typeof globalThis.fetch
  /** Longest silence in milliseconds: until the first byte, and between two chunks of the body. */
  readonly idleMs: number
  /** Calls `run` after `ms` milliseconds unless the returned function is called before. */
  readonly timer?: (run: () => void, ms: number) => () => void
}

export interface HttpAnswer {
  readonly status: number
  /** The URL after redirects, without credentials and query, for messages. */
  readonly from: string
  /** Media type without parameters, lower case. */
  readonly type: string
  readonly size: number | undefined
  /**
   * Throws `HttpFailure` when the connection breaks or falls silent. Ending the iteration early closes the connection.
   */
  readonly bytes: AsyncGenerator<Uint8Array, void, undefined>
  /** Closes the connection when the body is not needed. */
  discard(): Promise<void>
}

/** No answer, or an incomplete one. The message is a short phrase: `connection refused`. */
export class HttpFailure extends Error {}

const REDIRECTS = 5
const REDIRECTED: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const PHRASES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be looked up now',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_SOCKET: 'the connection was closed too early',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate chain is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by a known authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not signed by a known authority',
  CERT_HAS_EXPIRED: 'its certificate has expired',
}

/** Why a request failed, in a few words on one line. */
export const describeFailure = (error: unknown): string => {
  let at = error
  while (at instanceof Error) {
    if (at instanceof HttpFailure) return at.message
    const { code } = at as { code?: unknown }
    if (typeof code === 'string') return PHRASES[code] ?? code
    if (at.message === 'terminated') return 'the connection was closed too early'
    if (!(at.cause instanceof Error)) return at.message.split('\n', 1)[0]!
    at = at.cause
  }
  return String(at).split('\n', 1)[0]!
}

/** A URL for messages: without credentials and query. */
export const redactUrl = (url: URL): string => `${url.protocol}//${url.host}${url.pathname}`

/** The Authorization header of `user:password@` in a URL, and the URL without it. */
export const splitCredentials = (text: string): { readonly url: URL; readonly authorization: string | undefined } => {
  const url = new URL(text)
  if (url.username === '' && url.password === '') return { url, authorization: undefined }
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  url.username = ''
  url.password = ''
  return { url, authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

export interface HttpClient {
  /** `authorization` is sent to `url`'s own origin only. Throws `HttpFailure` when there is no answer. */
  get(
    url: URL,
    options: { readonly accept: string; readonly authorization: string | undefined; readonly signal: AbortSignal },
  ): Promise<HttpAnswer>
}

const systemTimer = (run: () => void, ms: number): (() => void) => {
  const timeout = setTimeout(run, ms)
  return () => clearTimeout(timeout)
}

export const createHttpClient = ({ fetch, idleMs, timer = systemTimer }: HttpOptions): HttpClient => ({
  async get(start, { accept, authorization, signal }) {
    const silence = new AbortController()
    const { signal: silent } = silence
    const giveUp = (): void => silence.abort(new HttpFailure(`it was silent for ${idleMs / 1000} s`))
    const request = async (url: URL): Promise<Response> => {
      const headers: Record<string, string> = { accept, 'accept-encoding': 'identity' }
      if (authorization !== undefined && url.origin === start.origin) headers.authorization = authorization
      const heard = timer(giveUp, idleMs)
      try {
        return await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.any([signal, silent]) })
      } catch (error) {
        if (signal.aborted) throw signal.reason
        throw new HttpFailure(describeFailure(silent.aborted ? silent.reason : error), { cause: error })
      } finally {
        heard()
      }
    }
    let url = start
    let response = await request(url)
    for (let hops = 1; REDIRECTED.has(response.status); hops += 1) {
      await response.body?.cancel()
      url = nextUrl(url, response.headers.get('location'))
      if (hops > REDIRECTS) throw new HttpFailure(`it redirected more than ${REDIRECTS} times`)
      response = await request(url)
    }
    const { status, headers, body } = response
    const length = Number(headers.get('content-length') ?? Number.NaN)

    async function* read(): AsyncGenerator<Uint8Array, void, undefined> {
      const reader = body?.getReader()
      let ended = false
      try {
        while (reader !== undefined) {
          // The timer runs only while a read is pending: a slow consumer must not count as a silent source.
          const heard = timer(giveUp, idleMs)
          const { done, value } = await reader.read().finally(heard)
          ended = done
          if (done) return
          yield value
        }
      } catch (error) {
        if (signal.aborted) throw signal.reason
        throw new HttpFailure(describeFailure(silent.aborted ? silent.reason : error), { cause: error })
      } finally {
        if (!ended) await reader?.cancel().catch(() => undefined)
      }
    }
    return {
      status,
      from: redactUrl(url),
      type: (headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase(),
      size: Number.isSafeInteger(length) ? length : undefined,
      bytes: read(),
      discard: async () => body?.cancel().catch(() => undefined),
    }
  },
})

const nextUrl = (from: URL, location: string | null): URL => {
  const to = URL.parse(location ?? '', from.href)
  if (location === null || to === null) throw new HttpFailure('it redirected to nowhere')
  if (to.protocol !== 'https:' && !(to.protocol === 'http:' && from.protocol === 'http:'))
    throw new HttpFailure(`it redirected from ${from.protocol.slice(0, -1)} to ${to.protocol.slice(0, -1)}`)
  if (to.username !== '' || to.password !== '') throw new HttpFailure('it redirected to a URL with credentials')
  return to
}

/** All of a body as text; throws `HttpFailure` when it is larger than `limit` bytes. */
export const readText = async ({ bytes }: HttpAnswer, limit: number): Promise<string> => {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of bytes) {
    size += part.byteLength
    if (size > limit) throw new HttpFailure(`its answer is larger than ${limit} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
