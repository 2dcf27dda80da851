/** createKernel(): configure → set up → freeze → listen → start → ready → stop. All state belongs to one kernel. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyPluginCallback, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Logger } from 'pino'
import { createAddressReader, idleTrust } from './address.ts'
import { systemClock, systemRandom } from './clock.ts'
import { configure } from './configure.ts'
import { describePlugins, type PluginDescription } from './describe.ts'
import { Failed, NotStarted, Starting, StoppedEarly, Stopping, WrongPhase } from './errors.ts'
import { createFailureBoard, type Failure } from './failure.ts'
import { createFreezer } from './freeze.ts'
import { createGates } from './gates.ts'
import { createHooks } from './hooks.ts'
import { answerBare, answerMalformed, createHttp } from './http.ts'
import { createIdentify } from './identify.ts'
import { createInFlight } from './in-flight.ts'
import type { KernelOptions } from './kernel-options.ts'
import { createLifecycles } from './lifecycles.ts'
import { CONNECTION_LIMITS, createApp, type OwnApp, openPort } from './listen.ts'
import { createLog } from './log.ts'
import { orderPlugins, withDependencies } from './order.ts'
import { type OwnUrl, toOwnUrl } from './own-url.ts'
import { createPhases, type Phase } from './phase.ts'
import { createReadiness, type Readiness } from './readiness.ts'
import { createContextBuilder } from './request-context.ts'
import type { ServerError } from './server-error.ts'
import { createServerRequests } from './server-request.ts'
import { createServices, type Service } from './services.ts'
import { setUpPlugins } from './set-up.ts'
import type { DecodedSettings } from './settings/decode.ts'
import { createStop } from './stop.ts'
import { createUpgrades } from './upgrades.ts'

const IDLE_MS = 50 // milliseconds between closings of idle connections during a stop

export interface Kernel {
  readonly phase: Phase
  readonly log: Logger
  readonly settings: DecodedSettings
  /** For an embedding host: `app.register(kernel.fastify, { prefix: '/fhir' })`. Starts and stops with the host. */
  readonly fastify: FastifyPluginCallback
  /** For a bare node:http server: `createServer(kernel.handler)`. Answers 503 until `start` is done. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /**
   * For the event `upgrade` of a host's server: `server.on('upgrade', kernel.upgrade)`, also where the kernel is
   * mounted in a Fastify app, `app.server`. Make the server with `shouldUpgradeCallback: asksForWebSocket`, so that
   * other requests stay HTTP.
   */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
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
  /** Resolves when a plugin reports that the server cannot continue; a process exits with the code. Never rejects. */
  readonly failed: Promise<Failure>
  /** Plugins that failed to hand over or to stop, so that something may be lost; known when `stop` has resolved. */
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
  const started = options.only && new Set(withDependencies(enabled, options.only).map(({ name }) => name))
  const hooks = createHooks()
  const freezer = createFreezer(hooks, (error, plugin, hook) =>
    log.error({ plugin, hook, err: error }, 'a tap threw where nothing can be refused'),
  )
  const { run } = freezer
  const services = createServices()
  const readiness = createReadiness(clock, log)
  const lifecycles = createLifecycles(log)
  const gates = createGates()
  const failures = createFailureBoard({ phases, readiness, lifecycles, log })
  const publicUrl = public_url === undefined ? undefined : toOwnUrl(public_url.replace(/\/+$/, ''))
  let ownUrl: OwnUrl | undefined = publicUrl
  const contextParts = { readAddress, publicUrl, ownUrl: () => ownUrl, clock, random, log }
  const { routes, direct } = setUpPlugins({
    plugins,
    enabled,
    serves: options.only === undefined,
    configOf,
    hooks,
    run,
    services,
    readiness,
    lifecycles,
    gates,
    failures,
    requests: createServerRequests({ ownUrl: () => ownUrl, clock, random, log }),
    identify: createIdentify(createContextBuilder(contextParts), run),
    tellOperator: options.tellOperator ?? (() => undefined),
    clock,
    random,
    log,
  })
  freezer.freeze()
  const gate = gates.close()
  phases.enter('set-up')

  /** The error that refuses requests at this time; undefined to accept them. */
  const refusal = (): ServerError | undefined => {
    if (phases.now === 'ready') return gate === null ? undefined : gate()
    if (phases.isStopping()) return Stopping().with({ headers: { 'retry-after': '1', connection: 'close' } })
    if (phases.now === 'failed')
      return failures.first === undefined ? NotStarted() : Failed().with({ headers: { connection: 'close' } })
    return Starting(readiness.starting ?? 'starting').with({ headers: { 'retry-after': '1' } })
  }
  const limits = { ...CONNECTION_LIMITS, ...options.limits }
  const upgrades = createUpgrades(limits, answerBare)
  const house = createHttp({
    run,
    routes,
    direct,
    refusal,
    ...contextParts,
    isStopping: phases.isStopping,
    upgrades,
  })
  let app: Promise<OwnApp> | undefined
  let made: OwnApp | undefined
  const ownApp = (): Promise<OwnApp> => {
    app ??= createApp(house, limits, upgrades).then((own) => {
      made = own
      return own
    })
    return app
  }
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (made !== undefined) made.handle(request, response)
    else
      ownApp().then(
        (own) => own.handle(request, response),
        (error) => answerMalformed(response, error, log),
      )
  }
  /** The router of an app that the kernel is mounted in. */
  let hosted: FastifyInstance['routing'] | undefined
  const inFlight = createInFlight()

  const startAll = async (): Promise<void> => {
    const idle = options.only === undefined ? idleTrust(trust) : undefined
    if (idle !== undefined) log.warn(idle)
    try {
      await lifecycles.start(started)
      if (phases.isStopping() || failures.first !== undefined) throw StoppedEarly()
    } catch (error) {
      if (phases.isStopping()) throw error
      if (phases.now !== 'failed') {
        phases.enter('failed')
        readiness.failed('the start failed')
      }
      await stop.unstart()
      throw failures.first?.error ?? error
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
      // As clients write it: `origin` leaves out the usual port of the scheme.
      if (address !== '') ownUrl ??= toOwnUrl(new URL(address).origin)
    } catch (error) {
      opening = undefined // so that it can be tried again, for example once the port is free
      throw error
    }
    if (phases.isStopping()) throw StoppedEarly()
    if (phases.now === 'set-up') phases.enter('listening')
    // Callers that need the result await start(). Without this handler a failure would be an unhandled rejection.
    start().catch(() => undefined)
    return address
  }

  const closePort = async (late: AbortSignal): Promise<void> => {
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
  const stop = createStop({
    phases,
    readiness,
    lifecycles,
    upgrades,
    inFlight,
    clock,
    closePort,
    flushLog: () => root.flush(),
  })

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
      // First new requests are refused, then the host finishes those in flight, then the plugins stop.
      host.addHook('preClose', async () => stop.begin())
      host.addHook('onClose', stop.all)
      hosted = host.routing
      house(host, { ...mountOptions, isHosts: (response) => !seen.has(response) }, done)
    },
    handler: (request, response) => {
      inFlight.add(response)
      handle(request, response)
    },
    upgrade: (request, socket, head) => upgrades.receive(request, socket, head, hosted ?? handle),
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
    stop: stop.all,
    failed: failures.told,
    get failedToStop() {
      return stop.failed
    },
  }
}
