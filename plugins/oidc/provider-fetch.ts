/** Requests to the provider: over https, within the time that is left, up to a size, without following redirects. */
import type { CustomFetch } from 'openid-client'
import { isLoopbackHttp } from './is-loopback-http.ts'
import { LoginFailure } from './login-failure.ts'

const MAX_BYTES = 256 * 1024

/** `ECONNREFUSED`, or the name of the error. Messages of errors may quote what was received. */
const codeOf = (error: unknown): string => {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string' && /^\w{1,64}$/.test(code)) return code
    if (at.cause === undefined) return at.name
  }
  return 'Error'
}

const collect = async (body: AsyncIterable<Uint8Array> | null, about: string): Promise<Uint8Array<ArrayBuffer>> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new LoginFailure('unavailable', `${about} is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Uint8Array.from(Buffer.concat(chunks))
}

/**
 * `allowHttp` lets the provider be asked over http on this machine. Rejects with a `LoginFailure` when there is no
 * answer, or one that says that the provider cannot answer now.
 */
export const createProviderFetch =
  (allowHttp: boolean, signal: AbortSignal): CustomFetch =>
  async (url, { method, headers, body }) => {
    const target = new URL(url)
    const about = `${target.origin}${target.pathname}`
    if (target.protocol !== 'https:' && !(allowHttp && isLoopbackHttp(target)))
      throw new LoginFailure('unavailable', `${about} is not an https URL`)
    try {
      const init = { method, headers, body: body ?? null, redirect: 'manual', signal } as RequestInit
      const response = await fetch(target, init)
      const { status } = response
      const isAnswer = status === 200 || status === 201 || (status >= 400 && status < 500 && status !== 429)
      if (!isAnswer) {
        await response.body?.cancel()
        throw new LoginFailure('unavailable', `${about} answers with the status ${status}`)
      }
      const kept = ['content-type', 'www-authenticate'].flatMap((name) => {
        const value = response.headers.get(name)
        return value === null ? [] : [[name, value] as [string, string]]
      })
      return new Response(await collect(response.body, about), { status, headers: kept })
    } catch (error) {
      if (error instanceof LoginFailure) throw error
      const reason = signal.aborted ? 'does not answer in time' : `does not answer: ${codeOf(error)}`
      throw new LoginFailure('unavailable', `${about} ${reason}`)
    }
  }
