/**
 * Fetches a file over https. A redirect is followed to listed hosts only, and a connection to an address that is not public is
 * destroyed before the request is sent, whatever the host name resolved to, unless the operator has named the host.
 */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import { isServerError, isSpecialAddress } from '../../kernel/index.ts'
import { type AllowedFile, type AllowedSources, shownUrl } from './allowed-sources.ts'
import { ImportUrl, SourceAddress, SourceAway, SourceRedirects, SourceStatus } from './errors.ts'
import type { OpenedFile } from './find-sources.ts'

const IDLE_MS = 60_000 // without a byte, while connecting too
const FILE_MS = 24 * 3_600_000 // for one file
const MAX_REDIRECTS = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

type Remote = Extract<AllowedFile, { kind: 'https' }>

export interface FetchParts {
  readonly allowed: Pick<AllowedSources, 'find'>
  /** Aborts after so many milliseconds. */
  readonly deadline: (ms: number) => AbortSignal
  readonly signal: AbortSignal
}

/** True for a status after which another try may succeed. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500

const markOf = ({ headers }: IncomingMessage): string =>
  [headers.etag, headers['last-modified'], headers['content-length']].map((one) => one ?? '').join('|')

const ask = ({ url, isInside }: Remote, name: string, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const refused = SourceAddress(name)
    const publicLookup: LookupFunction = (hostname, options, callback) => {
      const answer = (found: LookupAddress[]): void => {
        const [first] = found
        if (first === undefined || found.some(({ address }) => isSpecialAddress(address))) callback(refused, '', 4)
        else if (options.all === true) callback(null, found)
        else callback(null, first.address, first.family)
      }
      lookup(hostname, { all: true, family: options.family ?? 0 }).then(answer, (error) => callback(error, '', 4))
    }
    const asked = httpsRequest(
      url,
      // Each file opens a new connection: a pooled one might have been opened under other rules.
      {
        agent: false,
        signal,
        timeout: IDLE_MS,
        headers: { accept: 'application/fhir+ndjson, application/ndjson', 'accept-encoding': 'gzip' },
        ...(!isInside && { lookup: publicLookup }),
      },
      resolve,
    )
    asked.on('error', reject)
    asked.on('timeout', () => asked.destroy(new Error('nothing has come for a minute')))
    asked.on('socket', (socket: Socket) => {
      socket.once('connect', () => {
        if (!isInside && isSpecialAddress(socket.remoteAddress ?? '')) asked.destroy(refused)
      })
    })
    asked.end()
  })

/** A failed connection is a 503, because another try may succeed. */
const toAway = (error: unknown, name: string): Error =>
  isServerError(error) ? error : SourceAway(name).with({ cause: error, detail: String(error) })

async function* bytesOf(response: IncomingMessage, name: string): AsyncGenerator<Buffer> {
  try {
    yield* response as AsyncIterable<Buffer>
  } catch (error) {
    throw toAway(error, name)
  } finally {
    response.destroy()
  }
}

/** Throws 503 where another try may succeed, and 4xx where none would. */
export const fetchFile = async ({ allowed, deadline, signal }: FetchParts, from: Remote): Promise<OpenedFile> => {
  const name = shownUrl(from.url)
  const until = AbortSignal.any([signal, deadline(FILE_MS)])
  let file = from
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await ask(file, name, until).catch((error) => {
      throw toAway(error, name)
    })
    const status = response.statusCode ?? 0
    if (status === 200) return { bytes: bytesOf(response, name), mark: markOf(response) }
    response.destroy()
    const { location } = response.headers
    if (isPassing(status)) throw SourceAway(name).with({ detail: `status ${status}` })
    if (!REDIRECTS.has(status) || location === undefined) throw SourceStatus(name, status)
    const next = allowed.find(URL.parse(location, file.url.href)?.href ?? '')
    // A host must not redirect to a directory of this machine.
    if (next.kind !== 'https') throw ImportUrl(shownUrl(new URL(location, file.url.href)))
    file = next
  }
  throw SourceRedirects(name)
}
