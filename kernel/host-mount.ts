/** Mounts the kernel in the Fastify app of an embedding host, with which it starts and stops. */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import type { Logger } from 'pino'
import type { MountOptions } from './http-parts.ts'
import type { InFlight } from './in-flight.ts'
import type { Stop } from './stop.ts'

export interface HostMountParts {
  readonly house: FastifyPluginCallback<MountOptions>
  readonly start: () => Promise<void>
  readonly stop: Stop
  readonly inFlight: InFlight
  readonly log: Logger
}

export interface HostMount {
  readonly mount: FastifyPluginCallback
  /** The router of the host, once the kernel is mounted. */
  readonly routing: FastifyInstance['routing'] | undefined
}

export const createHostMount = ({ house, start, stop, inFlight, log }: HostMountParts): HostMount => {
  let routing: FastifyInstance['routing'] | undefined
  return {
    // Fastify reads the symbol that fastify-plugin would set; without it the mount is encapsulated, as we want it.
    mount: (host, options, done) => {
      host.addHook('onReady', async () => {
        start().catch((error) => log.error({ err: error }, 'the server cannot start'))
      })
      const seen = new WeakSet<ServerResponse>()
      host.addHook('onRequest', (_request, reply, next) => {
        inFlight.add(reply.raw)
        seen.add(reply.raw)
        next()
      })
      // First new requests are refused, then the host finishes those in flight, then the plugins stop.
      host.addHook('preClose', async () => stop.begin())
      host.addHook('onClose', stop.all)
      routing = host.routing
      house(host, { ...options, isHosts: (response) => !seen.has(response) }, done)
    },
    get routing() {
      return routing
    },
  }
}
