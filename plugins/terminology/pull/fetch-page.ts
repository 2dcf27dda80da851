/** Fetches a page of a terminology server. Redirects are followed to the same origin only; the size and the time are bounded. */
import { PullAway, PullRefused } from '../errors.ts'
import { isPullError } from './is-pull-error.ts'

export const MAX_PAGE_BYTES = 64 * 1024 * 1024 // unpacked
const IDLE_MS = 60_000 // without a byte, while connecting too
const PAGE_MS = 15 * 60_000 // for one page
const MAX_REDIRECTS = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const TYPES = 'application/fhir+json, application/json;q=0.9'

export interface FetchedPage {
  /** 200, or 4xx: another question may be answered. */
  readonly status: number
  /** Empty unless the status is 200. */
  readonly text: string
  /** Milliseconds since the epoch on the clock of the source; undefined where it does not say. */
  readonly time: number | undefined
}

/** Throws `PullAway` where another try may succeed, `PullRefused` where none would. `url` may not be logged as a whole. */
export type FetchPage = (url: URL, signal: AbortSignal) => Promise<FetchedPage>

export interface FetchPageParts {
  readonly fetch: typeof globalThis.fetch
  /** Aborts after so many milliseconds. */
  readonly deadline: (ms: number) => AbortSignal
}

/** The URL as messages show it: links between pages may hold keys. */
export const shownUrl = ({ origin, pathname }: URL): string => `${origin}${pathname}`.slice(0, 200)

/** The innermost cause in one line: fetch itself says `fetch failed`. */
const reasonOf = (error: unknown): string => {
  let at = error
  while (at instanceof Error && at.cause instanceof Error) at = at.cause
  const { code } = at as { readonly code?: unknown }
  return typeof code === 'string' ? code : (String(at instanceof Error ? at.message : at).split('\n', 1)[0] as string)
}

export const createFetchPage =
  ({ fetch, deadline }: FetchPageParts): FetchPage =>
  async (start, signal) => {
    const silence = new AbortController()
    const idle = setTimeout(() => silence.abort(new Error(`nothing has come for ${IDLE_MS / 1000} s`)), IDLE_MS)
    const until = AbortSignal.any([signal, silence.signal, deadline(PAGE_MS)])
    const readAll = async (response: Response, shown: string): Promise<string> => {
      const parts: Uint8Array[] = []
      let size = 0
      for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        idle.refresh()
        size += part.byteLength
        // Leaving the loop closes the connection.
        if (size > MAX_PAGE_BYTES) throw PullRefused(shown, `a page is larger than ${MAX_PAGE_BYTES} bytes`)
        parts.push(part)
      }
      return Buffer.concat(parts).toString('utf8')
    }
    let url = start
    try {
      for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
        const shown = shownUrl(url)
        const response = await fetch(url, { headers: { accept: TYPES }, redirect: 'manual', signal: until })
        const { status, headers } = response
        idle.refresh()
        if (status === 200) {
          const time = Date.parse(headers.get('date') ?? '')
          return { status, text: await readAll(response, shown), time: Number.isNaN(time) ? undefined : time }
        }
        await response.body?.cancel()
        if (status === 408 || status === 429 || status >= 500) throw PullAway(shown, `it answered ${status}`)
        if (!REDIRECTS.has(status)) return { status, text: '', time: undefined }
        const next = URL.parse(headers.get('location') ?? '', url.href)
        if (next === null || next.origin !== start.origin || next.username !== '' || next.password !== '')
          throw PullRefused(shown, `it redirected to another origin, ${next?.origin ?? 'which is no URL'}`)
        url = next
      }
      throw PullRefused(shownUrl(start), `it redirected more than ${MAX_REDIRECTS} times`)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (isPullError(error)) throw error
      throw PullAway(shownUrl(url), reasonOf(until.aborted ? until.reason : error)).with({ cause: error })
    } finally {
      clearTimeout(idle)
    }
  }
