/** createKernel(): configure → set up → freeze → listen → start → ready → stop. All state belongs to one kernel. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyPluginCallback, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Logger } from 'pino'
import { createAddressReader, idleTrust } from './address.ts'
import { systemClock, systemRandom } from './clock.ts'
import { createCompression } from './compression/compression.ts'
import { configure } from './configure.ts'
import { describePlugins, type PluginDescription } from './describe.ts'
import { StoppedEarly } from './errors.ts'
import { createFailureBoard, type Failure } from './failure.ts'
import { createFreezer } from './freeze.ts'
import { createGates } from './gates.ts'
import { createHooks } from './hooks.ts'
import { createHostMount } from './host-mount.ts'
import { answerBare, createHttp } from './http.ts'
import { createIdentify } from './identify.ts'
import { createInFlight } from './in-flight.ts'
import type { KernelOptions } from './kernel-options.ts'
import { createLifecycles } from './lifecycles.ts'
import { CONNECTION_LIMITS } from './listen.ts'
import { createLog } from './log.ts'
import { createMemoryBudget, type MemoryBudget } from './memory-budget.ts'
import { orderPlugins, withDependencies } from './order.ts'
import { createOwnPort } from './own-port.ts'
import { type OwnUrl, toOwnUrl } from './own-url.ts'
import { createPhases, type Phase } from './phase.ts'
import { createPresentations } from './presentation.ts'
import { createReadiness, type Readiness } from './readiness.ts'
import { createRefusal } from './refusal.ts'
import { createContextBuilder } from './request-context.ts'
import { createServerRequests } from './server-request.ts'
import { createServices, type Service } from './services.ts'
import { setUpPlugins } from './set-up.ts'
import type { DecodedSettings } from './settings/decode.ts'
import { createStart } from './start.ts'
import { createStop } from './stop.ts'
import { createUpgrades } from './upgrades.ts'

export interface Kernel {
  readonly phase: Phase
  readonly log: Logger
  readonly settings: DecodedSettings
  /** What [server] memory_bytes allows. */
  readonly memory: MemoryBudget
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
  /** Resolves when a plugin reports that the server cannot continue. A process of its own exits with the code of `Failure`. Never rejects. */
  readonly failed: Promise<Failure>
  /** Plugins that failed to hand over or to stop, so that something may be lost; known when `stop` has resolved. */
  readonly failedToStop: readonly string[]
}

/** The section [server]. */
interface ServerSection {
  readonly bind: string
  readonly public_url?: string
  readonly memory_bytes?: number
  readonly trusted_proxy_hops: number
  readonly trusted_proxy_peers: string[]
  readonly compress_from_bytes: number
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
  const server = settings.section('server') as unknown as ServerSection
  const { bind, public_url } = server
  const trust = { hops: server.trusted_proxy_hops, peers: server.trusted_proxy_peers }
  const memory = createMemoryBudget(server.memory_bytes)
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
  const { routes, direct, presentations } = setUpPlugins({
    watches: freezer.watches,
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
    refusal: () => refusal(),
    identify: createIdentify(createContextBuilder(contextParts), run),
    tellOperator: options.tellOperator ?? (() => undefined),
    ...{ clock, random, memory, log },
  })
  freezer.freeze()
  const refusal = createRefusal({ phases, readiness, failures, gate: gates.close() })
  phases.enter('set-up')

  const limits = { ...CONNECTION_LIMITS, ...options.limits }
  const upgrades = createUpgrades(limits, answerBare)
  const isStopping = phases.isStopping
  const forms = {
    compression: createCompression(server.compress_from_bytes),
    presentations: createPresentations(presentations),
  }
  const house = createHttp({ run, routes, direct, refusal, ...contextParts, ...forms, isStopping, upgrades })
  const port = createOwnPort({ house, limits, upgrades, phases, bind, log })
  const inFlight = createInFlight()
  const flushLog = (): void => root.flush()
  const stop = createStop({
    ...{ phases, readiness, lifecycles, upgrades, inFlight, clock },
    closePort: port.close,
    flushLog,
  })
  const idle = options.only === undefined ? idleTrust(trust) : undefined
  const start = createStart({ phases, readiness, lifecycles, failures, started, idle, unstart: stop.unstart, log })
  const host = createHostMount({ house, start, stop, inFlight, log })

  const listen = async (): Promise<string> => {
    const address = await port.open()
    // As clients write it: `origin` leaves out the usual port of the scheme.
    ownUrl ??= toOwnUrl(new URL(address).origin)
    if (phases.isStopping()) throw StoppedEarly()
    if (phases.now === 'set-up') phases.enter('listening')
    // Callers that need the result await start(). Without this handler a failure would be an unhandled rejection.
    start().catch(() => undefined)
    return address
  }

  return {
    get phase() {
      return phases.now
    },
    log,
    settings,
    memory,
    fastify: host.mount,
    handler: (request, response) => {
      if (inFlight.add(response)) port.handle(request, response)
    },
    upgrade: (request, socket, head) => upgrades.receive(request, socket, head, host.routing ?? port.handle),
    get: (service) => services.get(service),
    listen,
    start,
    inject: async (request) => (await port.app()).app.inject(request),
    readiness: () => readiness.state(),
    describe: () => describePlugins({ plugins, enabled, hooks, routes, sections }),
    stop: stop.all,
    failed: failures.reported,
    get failedToStop() {
      return stop.failed
    },
  }
}
