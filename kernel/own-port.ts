/** The kernel's own Fastify app, made when it is first needed, and its port. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyPluginCallback } from 'fastify'
import type { Logger } from 'pino'
import { StoppedEarly, WrongPhase } from './errors.ts'
import { answerMalformed } from './http.ts'
import type { MountOptions } from './http-parts.ts'
import { type ConnectionLimits, createApp, type OwnApp, openPort } from './listen.ts'
import type { Phases } from './phase.ts'
import type { Upgrades } from './upgrades.ts'

const IDLE_MS = 50 // milliseconds between closings of idle connections during a stop

export interface OwnPortParts {
  readonly house: FastifyPluginCallback<MountOptions>
  readonly limits: ConnectionLimits
  readonly upgrades: Upgrades
  readonly phases: Phases
  /** `host:port` of the settings. */
  readonly bind: string
  readonly log: Logger
}

export interface OwnPort {
  /** The app, ready to be injected into. */
  app(): Promise<OwnApp>
  handle(request: IncomingMessage, response: ServerResponse): void
  /**
   * Opens the port; resolves with its address. A host may start first and open the port later. Throws `WrongPhase`, and
   * `StoppedEarly` where a stop began meanwhile. After a failure it may be called again.
   */
  open(): Promise<string>
  /** Closes the port once its requests are answered; cuts them when the signal aborts. */
  close(late: AbortSignal): Promise<void>
}

export const createOwnPort = ({ house, limits, upgrades, phases, bind, log }: OwnPortParts): OwnPort => {
  let app: Promise<OwnApp> | undefined
  let made: OwnApp | undefined
  let opening: Promise<string> | undefined

  const ownApp = (): Promise<OwnApp> => {
    app ??= createApp(house, limits, upgrades).then((own) => {
      made = own
      return own
    })
    return app
  }
  return {
    app: ownApp,
    handle(request, response) {
      if (made !== undefined) made.handle(request, response)
      else
        ownApp().then(
          (own) => own.handle(request, response),
          (error) => answerMalformed(response, error, log),
        )
    },
    async open() {
      const { now } = phases
      if (opening !== undefined || (now !== 'set-up' && now !== 'ready')) throw WrongPhase(now, 'listening')
      opening = ownApp().then((own) => (phases.isStopping() ? '' : openPort(own.app, bind)))
      let address: string
      try {
        address = await opening
      } catch (error) {
        opening = undefined // so that it can be tried again, for example once the port is free
        throw error
      }
      if (address === '') throw StoppedEarly()
      return address
    },
    async close(late) {
      await opening?.catch(() => undefined)
      const own = await app?.catch(() => undefined)
      if (own === undefined) return
      const { server } = own.app
      late.addEventListener('abort', own.cut, { once: true })
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_MS)
      try {
        await own.app.close()
      } catch (error) {
        log.error({ err: error }, 'the port failed to close')
      } finally {
        clearInterval(idle)
        late.removeEventListener('abort', own.cut)
      }
    },
  }
}
