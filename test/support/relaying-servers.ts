/** Servers for tests of relaying: a replica in front, and behind it a primary or what a test puts in its place. */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AnyPlugin, definePlugin, type KernelOptions } from '../../kernel/index.ts'
import { RELAY_LIMITS, type RelayLimits } from '../../plugins/cluster/relay/primary.ts'
import { setUpRelay } from '../../plugins/cluster/relay/set-up-relay.ts'
import type { SnapshotSource } from '../../plugins/cluster/snapshot/snapshot-source.ts'
import { type ListeningKernel, listening } from './listening.ts'

/** What both servers read from their database. */
const secretFor = (purpose: string): Buffer => Buffer.alloc(32, purpose)
export const keyFor = (purpose: string): KeyObject => createSecretKey(secretFor(purpose))

export interface RoleOptions {
  readonly limits?: Partial<RelayLimits>
  readonly source?: SnapshotSource
  /** False while the database is not open, and has no keys. */
  readonly hasKeys?: () => boolean
}

/** The part of the plugin `cluster` that relays: of a replica with a URL, else of a primary. */
export const relayingAs = (
  primaryUrl: string | undefined,
  { limits, source, hasKeys = () => true }: RoleOptions = {},
): AnyPlugin =>
  definePlugin({
    name: 'cluster',
    setup: ({ hooks, clock, random }) =>
      setUpRelay({
        ...{ hooks, clock, random, primaryUrl, source, hasKeys, limits: { ...RELAY_LIMITS, ...limits } },
        keyFor(purpose) {
          if (!hasKeys()) throw new Error('the database is not open')
          return secretFor(purpose)
        },
      }),
  })

/** Takes every method at /far, which a replica sends on, and at /near, and answers what it was sent. */
export const echo = definePlugin({
  name: 'house',
  setup: ({ routes }) =>
    routes((app, _options, done) => {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, next) => next(null, bytes))
      for (const url of ['/far', '/far/*', '/near'])
        app.route({
          method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
          url,
          config: { relay: url !== '/near', requestClass: 'write' },
          handler: async ({ ctx, body }) => ({
            handled: ctx.method,
            address: ctx.address,
            relayed: ctx.relayed ?? null,
            id: ctx.id,
            body: (body as Buffer | undefined)?.toString() ?? null,
          }),
        })
      done()
    }),
})

/** A replica that sends what it is asked at /far to this URL. */
export const replicaOf = (
  primaryUrl: string,
  {
    limits,
    source,
    hasKeys,
    plugins = [],
    ...options
  }: RoleOptions & { plugins?: AnyPlugin[] } & Partial<Pick<KernelOptions, 'clock'>> = {},
): Promise<ListeningKernel> =>
  listening(
    [
      relayingAs(primaryUrl, { ...(limits && { limits }), ...(source && { source }), ...(hasKeys && { hasKeys }) }),
      echo,
      ...plugins,
    ],
    options,
  )

export interface Stand {
  readonly server: Server
  readonly url: string
  /** Requests that reached it, oldest first. */
  readonly asked: IncomingMessage[]
  stop(): Promise<void>
}

/** A server of the test's own in place of the primary. */
export const standIn = async (listener: RequestListener): Promise<Stand> => {
  const asked: IncomingMessage[] = []
  const server = createServer((request, response) => {
    asked.push(request)
    listener(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    server,
    asked,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export const bytesOf = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part)
  return Buffer.concat(parts)
}
