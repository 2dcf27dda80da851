/** Opens the byte stream to one PostgreSQL server: TCP or Unix socket, with TLS as the connection string asks. */
import { lookup } from 'node:dns/promises'
import { connect, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Conninfo } from './conninfo.ts'
import { describeEndpoint, type Endpoint } from './endpoints.ts'
import { ConnectTimeout, HostUnknown, Unreachable } from './errors.ts'
import { printable } from './printable.ts'
import { secure } from './tls.ts'
import type { TlsFiles } from './tls-files.ts'

/** One way to connect to one server. */
export interface Route {
  readonly endpoint: Endpoint
  /** Resolved; undefined for a Unix socket. */
  readonly address: string | undefined
  /** Whether to use TLS; `prefer` may try again without. Never over a Unix socket. */
  readonly tls: boolean
}

export interface Stream {
  readonly stream: Socket | TLSSocket
  readonly encrypted: boolean
}

/** All addresses of a host, in the resolver's order. Throws HostUnknown. */
export const resolveEndpoint = async (endpoint: Endpoint): Promise<readonly (string | undefined)[]> => {
  if (endpoint.kind === 'unix') return [undefined]
  if (endpoint.address !== undefined) return [endpoint.address]
  const host = endpoint.host ?? ''
  try {
    return (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address)
  } catch (error) {
    throw HostUnknown(host, (error as NodeJS.ErrnoException).code ?? 'unknown reason')
  }
}

/**
 * Connects and passes the stream to `use`, all within the connect timeout. The socket is destroyed on failure or
 * timeout. `signal` ends the attempt.
 */
export const dial = async <T>(
  route: Route,
  conninfo: Conninfo,
  files: TlsFiles,
  signal: AbortSignal | undefined,
  use: (stream: Stream) => Promise<T>,
): Promise<T> => {
  const where = describeEndpoint(route.endpoint)
  const context = route.tls ? await files.current() : undefined
  signal?.throwIfAborted()
  const { endpoint, address } = route
  const socket = connect(
    endpoint.kind === 'unix' ? { path: endpoint.path } : { host: address ?? '', port: endpoint.port },
  )
  socket.setNoDelay(true)
  if (conninfo.keepaliveMs !== undefined) socket.setKeepAlive(true, conninfo.keepaliveMs)

  let stage = 'connecting'
  const work = async (): Promise<T> => {
    await connected(socket, where)
    stage = 'waiting for TLS'
    const stream =
      context === undefined
        ? socket
        : await secure({
            socket,
            where,
            host: endpoint.kind === 'tcp' ? endpoint.host : undefined,
            settings: conninfo.tls,
            context,
          })
    stage = 'waiting for the session to begin'
    return use({ stream, encrypted: stream !== socket })
  }
  const working = work()
  const { promise: cut, reject } = Promise.withResolvers<never>()
  const timer =
    conninfo.connectTimeoutMs === 0
      ? undefined
      : setTimeout(() => reject(ConnectTimeout(where, conninfo.connectTimeoutMs, stage)), conninfo.connectTimeoutMs)
  const abort = (): void => reject(signal?.reason)
  signal?.addEventListener('abort', abort)
  try {
    return await Promise.race([working, cut])
  } catch (error) {
    working.catch(() => {}) // it also fails when the socket is destroyed
    socket.on('error', () => {}).destroy()
    throw error
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

const connected = (socket: Socket, where: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      socket.off('connect', done).off('error', fail).off('close', close)
      act()
    }
    const done = (): void => settle(resolve)
    const fail = (error: NodeJS.ErrnoException): void =>
      settle(() => reject(Unreachable(where, printable(error.message)).with({ detail: { code: error.code } })))
    const close = (): void => settle(() => reject(Unreachable(where, 'it closed the connection')))
    socket.on('connect', done).on('error', fail).on('close', close)
  })
