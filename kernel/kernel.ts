/** createKernel(): configure → set up → freeze → listen → start → ready → stop. Nothing here outlives the kernel. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyPluginCallback, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Logger } from 'pino'
import { createAddressReader } from './address.ts'
import { type Clock, type Random, systemClock, systemRandom } from './clock.ts'
import { kernelConfig } from './config.ts'
import { PluginPromise, PluginSetup, PluginStart, ServerError, WrongPhase } from './errors.ts'
import { createFreezer, hooksFor } from './freeze.ts'
import { createHooks } from './hooks.ts'
import { createHttp, type MountedRoutes } from './http.ts'
import { CONNECTION_LIMITS, type ConnectionLimits, createApp } from './listen.ts'
import { loadPlugins } from './load.ts'
import { createLog, type LogOptions } from './log.ts'
import { orderPlugins } from './order.ts'
import type { AnyPlugin, Host, Instances, Lifecycle, Needs } from './plugin.ts'
import { createReadiness, type Readiness } from './readiness.ts'
import { createServices, type Service } from './services.ts'
import { type DecodedSettings, decode, type OwnedSection } from './settings/decode.ts'
import { fromObject, type Layered } from './settings/layer.ts'

export type Phase = 'new' | 'configured' | 'set-up' | 'listening' | 'ready' | 'stopping' | 'stopped' | 'failed'

const NEXT: Readonly<Record<Phase, readonly Phase[]>> = {
  new: ['configured', 'failed'],
  configured: ['set-up', 'failed'],
  'set-up': ['listening', 'ready', 'stopping', 'failed'],
  listening: ['ready', 'stopping', 'failed'],
  ready: ['stopping'],
  stopping: ['stopped'],
  stopped: [],
  failed: ['stopping'],
}

const STOP_MS = 10_000 // in-flight requests get this long before their connections are cut

/** A plugin as `server plugins` prints it. */
export interface PluginDescription {
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  readonly hooks: readonly string[]
  readonly settings: readonly string[]
  readonly routes: readonly string[]
  readonly commands: readonly string[]
  readonly provides: readonly string[]
  readonly needs: readonly string[]
}

export interface KernelOptions {
  readonly plugins: readonly AnyPlugin[]
  /** Sections as server.toml has them, or settings layered from several places by the CLI. */
  readonly settings?: object | Layered
  readonly log?: LogOptions
  readonly clock?: Clock
  readonly random?: Random
  /** Where relative paths of `[plugins] load` start; the working directory by default. */
  readonly folder?: string
  /** Time limits of connections to our own port, where they differ from the usual ones. */
  readonly limits?: Partial<ConnectionLimits>
}

export interface Kernel {
  readonly phase: Phase
  readonly log: Logger
  readonly settings: DecodedSettings
  /** For an embedding host: `app.register(kernel.fastify, { prefix: '/fhir' })`. Starts and stops with the host. */
  readonly fastify: FastifyPluginCallback
  /** For a bare node:http server: `createServer(kernel.handler)`, after `await kernel.start()`. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /** The instance behind a service token. */
  get<T>(service: Service<T>): T
  /** Opens the port and starts the plugins behind it; resolves with the address as soon as the port is open. */
  listen(): Promise<string>
  /** Starts the plugins, without a port of our own. Resolves when ready; rejects by the name of the plugin that failed. */
  start(): Promise<void>
  inject(request: InjectOptions | string): Promise<LightMyRequestResponse>
  readiness(): Promise<Readiness>
  /** Plugins in order, with what each adds. */
  describe(): Promise<readonly PluginDescription[]>
  /** Finishes requests in flight, closes keep-alive connections, stops the plugins in reverse; at most ten seconds. */
  stop(): Promise<void>
}

const isLayered = (settings: object): settings is Layered =>
  typeof (settings as Layered).origin === 'function' && typeof (settings as Layered).values === 'object'

const sectionsOf = (plugins: readonly AnyPlugin[], thirdParty: ReadonlySet<AnyPlugin>): OwnedSection[] =>
  plugins.flatMap((plugin) =>
    Object.entries(plugin.config ?? {}).map(([path, schema]) => ({
      plugin: plugin.name,
      path: thirdParty.has(plugin) ? `plugin.${path}` : path,
      schema: schema as OwnedSection['schema'],
    })),
  )

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const createKernel = async (options: KernelOptions): Promise<Kernel> => {
  const clock = options.clock ?? systemClock
  const random = options.random ?? systemRandom
  const root = createLog(options.log ?? {})
  const { log } = root
  let phase: Phase = 'new'
  const enter = (next: Phase): void => {
    if (!NEXT[phase].includes(next)) throw WrongPhase(phase, next)
    phase = next
  }

  // Configure: third-party plugins are part of the settings, and settings are checked against all plugins' sections.
  const given = options.settings ?? {}
  const layered = isLayered(given) ? given : fromObject(given)
  const kernelSections: OwnedSection[] = Object.entries(kernelConfig).map(([path, schema]) => ({
    plugin: 'kernel',
    path,
    schema,
  }))
  const references = (layered.values as { plugins?: { load?: unknown } }).plugins?.load
  const loaded = Array.isArray(references)
    ? await loadPlugins(
        references.filter((one) => typeof one === 'string'),
        options.folder ?? '.',
      )
    : []
  const thirdParty = new Set<AnyPlugin>(loaded)
  const plugins = [...options.plugins, ...loaded]
  const settings = decode([...kernelSections, ...sectionsOf(plugins, thirdParty)], layered)
  root.mask(settings.secrets())
  if (options.log?.level === undefined) log.level = settings.section('log').level as string
  const configOf = (plugin: AnyPlugin): Record<string, unknown> =>
    Object.fromEntries(
      Object.keys(plugin.config ?? {}).map((path) => [
        path,
        settings.section(thirdParty.has(plugin) ? `plugin.${path}` : path),
      ]),
    )
  enter('configured')

  // Set up: synchronous and without I/O, in order of needs.
  const enabled = orderPlugins(plugins.filter((plugin) => plugin.enabled?.(configOf(plugin)) ?? true))
  const hooks = createHooks()
  const freezer = createFreezer(hooks, (error) => log.error({ err: error }, 'a tap threw where nothing can be refused'))
  const services = createServices()
  const readiness = createReadiness(clock, log)
  const routes: MountedRoutes[] = []
  const lifecycles: { plugin: AnyPlugin; lifecycle: Lifecycle }[] = []
  let settingUp: AnyPlugin | undefined
  const hostFor = (plugin: AnyPlugin): Host<any, any> => ({
    hooks: hooksFor(hooks, plugin.name, () => settingUp === plugin),
    run: freezer.run,
    config: configOf(plugin),
    needs: Object.fromEntries(
      Object.entries((plugin.needs ?? {}) as Needs).map(([name, service]) => [name, services.get(service)]),
    ) as Instances<Needs>,
    log: log.child({ plugin: plugin.name }),
    clock,
    random,
    provide: (service, instance) => services.provide(service, instance),
    optional: (service) => (services.has(service) ? services.get(service) : undefined),
    routes: (callback, { bare = false } = {}) => void routes.push({ plugin: plugin.name, callback, bare }),
    readiness: (reason, check) => readiness.add(plugin.name, reason, check),
    state: () => readiness.state(),
    busy: (reason) => readiness.busy(reason),
    plugins,
  })
  for (const plugin of enabled) {
    settingUp = plugin
    try {
      const lifecycle = plugin.setup(hostFor(plugin))
      if (lifecycle !== undefined) lifecycles.push({ plugin, lifecycle })
    } catch (error) {
      throw PluginSetup(plugin.name, reasonOf(error)).with({ cause: error })
    } finally {
      settingUp = undefined
    }
    for (const service of plugin.provides ?? [])
      if (!services.has(service)) throw PluginPromise(plugin.name, service.name)
  }
  const tapsOf = (name: string): string[] =>
    Object.values(hooks).flatMap((hook) =>
      (hook.taps as { plugin?: string; name: string }[])
        .filter((tap) => tap.plugin === name)
        .map((tap) => `${hook.name}: ${tap.name}`),
    )
  freezer.freeze()
  enter('set-up')

  const { bind, public_url, trusted_proxy_hops, trusted_proxy_peers } = settings.section('server') as unknown as {
    bind: string
    public_url?: string
    trusted_proxy_hops: number
    trusted_proxy_peers: string[]
  }
  const house = createHttp({
    run: freezer.run,
    routes,
    readAddress: createAddressReader({ hops: trusted_proxy_hops, peers: trusted_proxy_peers }),
    publicUrl: public_url?.replace(/\/+$/, ''),
    readiness,
    clock,
    random,
    log,
    isStopping: () => phase === 'stopping' || phase === 'stopped',
  })

  const aborter = new AbortController()
  const running: { plugin: AnyPlugin; lifecycle: Lifecycle }[] = []
  let starting: Promise<void> | undefined
  const startPlugins = async (): Promise<void> => {
    for (const entry of lifecycles) {
      // Noted before it starts: one that fails half-way must still be stopped.
      running.push(entry)
      try {
        await entry.lifecycle.start?.(aborter.signal)
      } catch (error) {
        if (aborter.signal.aborted) return
        enter('failed')
        throw PluginStart(entry.plugin.name, reasonOf(error)).with({ cause: error })
      }
      if (aborter.signal.aborted) return
    }
    enter('ready')
    readiness.started()
  }
  const start = (): Promise<void> => {
    starting ??= startPlugins()
    return starting
  }

  let app: FastifyInstance | undefined
  const ownApp = async (): Promise<FastifyInstance> => {
    if (app === undefined) {
      app = await createApp(house, { ...CONNECTION_LIMITS, ...options.limits })
      await app.ready()
    }
    return app
  }

  const closeApp = async (): Promise<void> => {
    if (app === undefined) return
    const { server } = app
    const cut = setTimeout(() => server.closeAllConnections(), STOP_MS)
    const idle = setInterval(() => server.closeIdleConnections(), 50)
    server.closeIdleConnections()
    try {
      await app.close()
    } finally {
      clearTimeout(cut)
      clearInterval(idle)
    }
  }
  const stopPlugins = async (): Promise<void> => {
    for (const { plugin, lifecycle } of running.toReversed()) {
      try {
        await lifecycle.stop?.()
      } catch (error) {
        log.error({ plugin: plugin.name, err: error }, 'the plugin failed to stop')
      }
    }
  }
  const beginStop = (): void => {
    if (phase === 'stopping' || phase === 'stopped') return
    enter('stopping')
    readiness.stopping()
    aborter.abort()
  }
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopped ??= (async () => {
      beginStop()
      await closeApp()
      await starting?.catch(() => undefined)
      await stopPlugins()
      enter('stopped')
    })()
    return stopped
  }

  const describe = async (): Promise<readonly PluginDescription[]> => {
    const paths = new Map<string, string[]>()
    const { default: fastify } = await import('fastify')
    for (const { plugin, callback } of routes) {
      const probe = fastify({ exposeHeadRoutes: false })
      probe.addHook('onRoute', ({ method, url }) => {
        const list = paths.get(plugin) ?? []
        list.push(`${[method].flat().join('|')} ${url}`)
        paths.set(plugin, list)
      })
      probe.register(callback)
      await probe.ready()
      await probe.close()
    }
    const rest = plugins.filter((plugin) => !enabled.includes(plugin))
    return [...enabled, ...rest].map((plugin) => ({
      name: plugin.name,
      description: plugin.description ?? '',
      enabled: enabled.includes(plugin),
      hooks: tapsOf(plugin.name),
      settings: sectionsOf([plugin], thirdParty).flatMap(({ path, schema }) =>
        Object.keys(schema.properties).map((key) => `${path}.${key}`),
      ),
      routes: paths.get(plugin.name) ?? [],
      commands: Object.keys(plugin.commands ?? {}),
      provides: (plugin.provides ?? []).map((service: Service<unknown>) => service.name),
      needs: Object.values((plugin.needs ?? {}) as Needs).map((service) => service.name),
    }))
  }

  return {
    get phase() {
      return phase
    },
    log,
    settings,
    // Fastify reads the symbol that fastify-plugin would set; without it the mount is encapsulated, as we want it.
    fastify: (host, mountOptions, done) => {
      host.addHook('onReady', async () => {
        start().catch((error) => log.error({ err: error }, 'the server cannot start'))
      })
      // First stop taking more on a connection, then let the host finish what is in flight, then stop what it stood on.
      host.addHook('preClose', async () => beginStop())
      host.addHook('onClose', stop)
      house(host, mountOptions, done)
    },
    handler: (request, response) => {
      void ownApp().then((own) => own.routing(request, response))
    },
    get: (service) => services.get(service),
    async listen() {
      const at = bind.lastIndexOf(':')
      const own = await ownApp()
      const address = await own.listen({
        host: bind.slice(0, at).replace(/^\[|\]$/g, ''),
        port: Number(bind.slice(at + 1)),
      })
      // A host may start first and open the port later; then it is ready already.
      if (phase === 'set-up') enter('listening')
      // Whoever wants to know awaits start(); nobody doing so must not end the process.
      start().catch(() => undefined)
      return address
    },
    start,
    inject: async (request) => (await ownApp()).inject(request),
    readiness: () => readiness.state(),
    describe,
    stop,
  }
}

/** True for errors that a table made: their message is fit for one line on a terminal. */
export const isServerError = (error: unknown): error is ServerError => error instanceof ServerError
