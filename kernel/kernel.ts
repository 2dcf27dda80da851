/** createKernel(): configure → set up → freeze → listen → start → ready → stop. Nothing here outlives the kernel. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyPluginCallback, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Logger } from 'pino'
import { createAddressReader, idleTrust } from './address.ts'
import { systemClock, systemRandom } from './clock.ts'
import { configure } from './configure.ts'
import { describePlugins, type PluginDescription } from './describe.ts'
import { NotStarted, Starting, StoppedEarly, Stopping, WrongPhase } from './errors.ts'
import { createFreezer } from './freeze.ts'
import { createHooks } from './hooks.ts'
import { answerBroken, createHttp } from './http.ts'
import { createInFlight } from './in-flight.ts'
import type { KernelOptions } from './kernel-options.ts'
import { createLifecycles } from './lifecycles.ts'
import { CONNECTION_LIMITS, createApp, type OwnApp, openPort } from './listen.ts'
import { createLog } from './log.ts'
import { orderPlugins, withNeeds } from './order.ts'
import { type OwnUrl, toOwnUrl } from './own-url.ts'
import { createPhases, type Phase } from './phase.ts'
import { createReadiness, type Readiness } from './readiness.ts'
import type { ServerError } from './server-error.ts'
import { createServerRequests } from './server-request.ts'
import { createServices, type Service } from './services.ts'
import { setUpPlugins } from './set-up.ts'
import type { DecodedSettings } from './settings/decode.ts'

const STOP_MS = 10_000 // all of a stop: about the patience of those who send SIGTERM
const FINISH_MS = 8_000 // of that, for requests in flight; then their connections are cut
const IDLE_MS = 50 // how often connections that became idle are closed meanwhile

export interface Kernel {
  readonly phase: Phase
  readonly log: Logger
  readonly settings: DecodedSettings
  /** For an embedding host: `app.register(kernel.fastify, { prefix: '/fhir' })`. Starts and stops with the host. */
  readonly fastify: FastifyPluginCallback
  /** For a bare node:http server: `createServer(kernel.handler)`. Answers 503 until `start` is done. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /** The instance behind a service token. */
  get<T>(service: Service<T>): T
  /** Opens the port and starts the plugins behind it; resolves with the address as soon as the port is open. */
  listen(): Promise<string>
  /**
   * Starts the plugins, without a port of our own. Resolves when ready; rejects by the name of the plugin that failed,
   * after those that had started are stopped again.
   */
  start(): Promise<void>
  inject(request: InjectOptions | string): Promise<LightMyRequestResponse>
  readiness(): Promise<Readiness>
  /** Plugins in order, with what each adds. */
  describe(): Promise<readonly PluginDescription[]>
  /** Finishes requests in flight, closes keep-alive connections, stops the plugins in reverse; at most ten seconds. */
  stop(): Promise<void>
  /** Plugins that failed to stop, so that something may be lost; known when `stop` has resolved. */
  readonly failedToStop: readonly string[]
}

export const createKernel = async (options: KernelOptions): Promise<Kernel> => {
  const clock = options.clock ?? systemClock
  const random = options.random ?? systemRandom
  const root = createLog(options.log ?? {})
  const { log } = root
  const phases = createPhases()

  // Configure: read and check the settings of all plugins, third-party plugins included.
  const { plugins, sections, settings, configOf, isEnabled } = await configure(options)
  root.mask(settings.secrets())
  if (options.log?.level === undefined) log.level = settings.section('log').level as string
  const { bind, public_url, trusted_proxy_hops, trusted_proxy_peers } = settings.section('server') as unknown as {
    bind: string
    public_url?: string
    trusted_proxy_hops: number
    trusted_proxy_peers: string[]
  }
  const trust = { hops: trusted_proxy_hops, peers: trusted_proxy_peers }
  const readAddress = createAddressReader(trust)
  phases.enter('configured')

  // Set up: synchronous and without I/O, in order of needs.
  const enabled = orderPlugins(plugins.filter(isEnabled))
  const started = options.only && new Set(withNeeds(enabled, options.only).map(({ name }) => name))
  const hooks = createHooks()
  const freezer = createFreezer(hooks, (error, plugin, hook) =>
    log.error({ plugin, hook, err: error }, 'a tap threw where nothing can be refused'),
  )
  const { run } = freezer
  const services = createServices()
  const readiness = createReadiness(clock, log)
  const lifecycles = createLifecycles(log)
  const publicUrl = public_url === undefined ? undefined : toOwnUrl(public_url.replace(/\/+$/, ''))
  let ownUrl: OwnUrl | undefined = publicUrl
  const { routes, direct } = setUpPlugins({
    plugins,
    enabled,
    configOf,
    hooks,
    run,
    services,
    readiness,
    lifecycles,
    requests: createServerRequests({ ownUrl: () => ownUrl, clock, random, log }),
    clock,
    random,
    log,
  })
  freezer.freeze()
  phases.enter('set-up')

  /** Why no request is taken now. */
  const refusal = (): ServerError | undefined => {
    if (phases.now === 'ready') return undefined
    if (phases.isStopping()) return Stopping().with({ headers: { 'retry-after': '1', connection: 'close' } })
    if (phases.now === 'failed') return NotStarted()
    return Starting(readiness.starting ?? 'starting').with({ headers: { 'retry-after': '1' } })
  }
  const house = createHttp({
    run,
    routes,
    direct,
    readAddress,
    publicUrl,
    ownUrl: () => ownUrl,
    refusal,
    clock,
    random,
    log,
    isStopping: phases.isStopping,
  })
  let app: Promise<OwnApp> | undefined
  let made: OwnApp | undefined
  const ownApp = (): Promise<OwnApp> => {
    app ??= createApp(house, { ...CONNECTION_LIMITS, ...options.limits }).then((own) => {
      made = own
      return own
    })
    return app
  }
  const inFlight = createInFlight()

  const startAll = async (): Promise<void> => {
    const idle = options.only === undefined ? idleTrust(trust) : undefined
    if (idle !== undefined) log.warn(idle)
    try {
      await lifecycles.start(started)
      if (phases.isStopping()) throw StoppedEarly()
    } catch (error) {
      if (phases.isStopping()) throw error
      phases.enter('failed')
      readiness.failed()
      lifecycles.abort()
      await lifecycles.stop(clock.deadline(STOP_MS))
      throw error
    }
    phases.enter('ready')
    readiness.started()
  }
  let starting: Promise<void> | undefined
  const start = (): Promise<void> => {
    if (starting === undefined && phases.isStopping()) return Promise.reject(WrongPhase(phases.now, 'ready'))
    starting ??= startAll()
    return starting
  }

  let opening: Promise<string> | undefined
  const listen = async (): Promise<string> => {
    // A host may start first and open the port later.
    const { now } = phases
    if (opening !== undefined || (now !== 'set-up' && now !== 'ready')) throw WrongPhase(now, 'listening')
    opening = ownApp().then((own) => (phases.isStopping() ? '' : openPort(own.app, bind)))
    let address: string
    try {
      address = await opening
      // As clients write it: without a port that is the usual one of its scheme.
      if (address !== '') ownUrl ??= toOwnUrl(new URL(address).origin)
    } catch (error) {
      opening = undefined // the port was taken, say: it may be free later
      throw error
    }
    if (phases.isStopping()) throw StoppedEarly()
    if (phases.now === 'set-up') phases.enter('listening')
    // Whoever wants to know awaits start(); nobody doing so must not end the process.
    start().catch(() => undefined)
    return address
  }

  const beginStop = (): void => {
    if (phases.isStopping()) return
    phases.enter('stopping')
    readiness.stopping()
    lifecycles.abort()
  }
  const closeApp = async (late: AbortSignal): Promise<void> => {
    await opening?.catch(() => undefined)
    const own = await app?.catch(() => undefined)
    if (own === undefined) return
    const { server } = own.app
    const cut = () => server.closeAllConnections()
    late.addEventListener('abort', cut, { once: true })
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_MS)
    try {
      await own.app.close()
    } catch (error) {
      log.error({ err: error }, 'the port failed to close')
    } finally {
      clearInterval(idle)
      late.removeEventListener('abort', cut)
    }
  }
  let failedToStop: readonly string[] = []
  const stopAll = async (): Promise<void> => {
    beginStop()
    const awake = setInterval(() => undefined, STOP_MS) // a deadline alone does not keep a process alive
    const finish = clock.deadline(FINISH_MS)
    const late = clock.deadline(STOP_MS)
    try {
      await Promise.all([closeApp(finish), inFlight.finish(finish)])
      failedToStop = await lifecycles.stop(late)
    } finally {
      clearInterval(awake)
      phases.enter('stopped')
      root.flush()
    }
  }
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopped ??= stopAll()
    return stopped
  }

  return {
    get phase() {
      return phases.now
    },
    log,
    settings,
    // Fastify reads the symbol that fastify-plugin would set; without it the mount is encapsulated, as we want it.
    fastify: (host, mountOptions, done) => {
      host.addHook('onReady', async () => {
        start().catch((error) => log.error({ err: error }, 'the server cannot start'))
      })
      const seen = new WeakSet<ServerResponse>()
      host.addHook('onRequest', (_request, reply, next) => {
        inFlight.add(reply.raw)
        seen.add(reply.raw)
        next()
      })
      // First stop taking more on a connection, then let the host finish what is in flight, then stop what it stood on.
      host.addHook('preClose', async () => beginStop())
      host.addHook('onClose', stop)
      house(host, { ...mountOptions, isHosts: (response) => !seen.has(response) }, done)
    },
    handler: (request, response) => {
      inFlight.add(response)
      if (made !== undefined) return made.handle(request, response)
      ownApp().then(
        (own) => own.handle(request, response),
        (error) => answerBroken(response, error, log),
      )
    },
    get: (service) => services.get(service),
    listen,
    start,
    inject: async (request) => (await ownApp()).app.inject(request),
    readiness: () => readiness.state(),
    describe: () =>
      describePlugins({
        plugins: [...enabled, ...plugins.filter((plugin) => !enabled.includes(plugin))],
        enabled: new Set(enabled),
        hooks,
        routes,
        settingsOf: (plugin) =>
          sections
            .filter((section) => section.plugin === plugin.name)
            .flatMap(({ path, schema }) => Object.keys(schema.properties).map((key) => `${path}.${key}`)),
      }),
    stop,
    get failedToStop() {
      return failedToStop
    },
  }
}
