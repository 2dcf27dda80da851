/**
 * Sets the enabled plugins up in order. Each gets a Host, whose methods that declare something work until its `setup`
 * returns.
 */
import type { Logger } from 'pino'
import type { Clock, Random } from './clock.ts'
import type { DeclaredDirect } from './direct-router.ts'
import { LateDeclaration, PluginNeeds, PluginPromise, PluginSetup, ServiceEarly } from './errors.ts'
import type { FailureBoard } from './failure.ts'
import type { Runners } from './freeze.ts'
import { hooksFor } from './freeze.ts'
import type { Gates } from './gates.ts'
import type { Hooks } from './hooks.ts'
import type { MountedRoutes } from './http-parts.ts'
import type { Identify } from './identify.ts'
import type { Lifecycles } from './lifecycles.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { messageOf } from './message-of.ts'
import type { AnyPlugin, Host, Instances, Lifecycle, Needs } from './plugin.ts'
import type { Presentation } from './presentation.ts'
import type { ReadinessBoard } from './readiness.ts'
import { refuseOtherMajor } from './refuse-other-major.ts'
import { listRoutes } from './route-list.ts'
import type { ServerError } from './server-error.ts'
import type { ServerRequests } from './server-request.ts'
import type { Service, ServiceRegistry } from './services.ts'
import type { WatchTap } from './watch-tap.ts'

export interface SetUpParts {
  /** All plugins, and those of them that are enabled, in order. */
  readonly plugins: readonly AnyPlugin[]
  readonly enabled: readonly AnyPlugin[]
  /** False for a command. */
  readonly serves: boolean
  readonly configOf: (plugin: AnyPlugin) => Record<string, unknown>
  readonly hooks: Hooks
  /** Plugins add to it. */
  readonly watches: WatchTap[]
  readonly run: Runners
  readonly services: ServiceRegistry
  readonly readiness: ReadinessBoard
  readonly lifecycles: Lifecycles
  readonly gates: Gates
  readonly failures: FailureBoard
  readonly requests: ServerRequests
  readonly refusal: () => ServerError | undefined
  readonly identify: Identify
  readonly tellOperator: (line: string) => void
  readonly clock: Clock
  readonly random: Random
  readonly memory: MemoryBudget
  readonly log: Logger
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null)?.then === 'function'

/** What `setup` returned. Throws a TypeError that says why it is not a Lifecycle. */
const checkLifecycle = (returned: unknown): Lifecycle | undefined => {
  if (returned === undefined || returned === null) return undefined
  if (isThenable(returned)) {
    returned.then(undefined, () => undefined) // the TypeError below is thrown instead of its failure
    throw new TypeError('setup must not be async; what takes time belongs into the start it returns')
  }
  if (typeof returned !== 'object') throw new TypeError('setup returns nothing, or an object with start and stop')
  return returned
}

/** Declarations of plugins that the HTTP host needs. */
export interface Declared {
  readonly routes: readonly MountedRoutes[]
  readonly direct: readonly DeclaredDirect[]
  readonly presentations: readonly Presentation[]
}

/** Throws `PluginSetup` or `PluginPromise`, by name. */
export const setUpPlugins = (parts: SetUpParts): Declared => {
  const { services, readiness, clock, random } = parts
  const routes: MountedRoutes[] = []
  const direct: DeclaredDirect[] = []
  const presentations: Presentation[] = []
  let current: AnyPlugin | undefined
  let areAllSetUp = false
  const asked: { readonly plugin: string; readonly name: string }[] = []

  const laterFor =
    (plugin: string) =>
    <T>(service: Service<T>): (() => T) => {
      refuseOtherMajor({ name: plugin, uses: [service] })
      asked.push({ plugin, name: service.name })
      return () => {
        if (!areAllSetUp) throw ServiceEarly(plugin, service.name)
        return services.get(service)
      }
    }
  const hostFor = (plugin: AnyPlugin): Host<any, any> => {
    const inSetup =
      <A extends unknown[], R>(name: string, declare: (...args: A) => R) =>
      (...args: A): R => {
        if (current !== plugin) throw LateDeclaration(plugin.name, name)
        return declare(...args)
      }
    return {
      hooks: hooksFor(parts.hooks, plugin.name, () => current === plugin),
      run: parts.run,
      config: parts.configOf(plugin),
      needs: Object.fromEntries(
        Object.entries((plugin.needs ?? {}) as Needs).map(([name, service]) => [name, services.get(service)]),
      ) as Instances<Needs>,
      log: parts.log.child({ plugin: plugin.name }),
      clock,
      random,
      memory: parts.memory,
      provide: inSetup('provide', services.provide),
      watchTaps: inSetup('watchTaps', (watch) => void parts.watches.push(watch)),
      decorate: inSetup('decorate', services.decorate) as Host['decorate'],
      optional: (service) => (services.has(service) ? services.get(service) : undefined),
      later: inSetup('later', laterFor(plugin.name)) as Host['later'],
      request: (given) => parts.requests(plugin.name, given),
      identify: parts.identify,
      routes: inSetup(
        'routes',
        (callback, { bare = false } = {}) => void routes.push({ plugin: plugin.name, callback, bare }),
      ),
      direct: inSetup('direct', (route) => void direct.push({ plugin: plugin.name, route })),
      present: inSetup('present', (presentation) => void presentations.push(presentation)),
      readiness: inSetup('readiness', (reason, check) => readiness.add(plugin.name, reason, check)),
      gate: inSetup('gate', (gate) => parts.gates.add(plugin.name, gate)),
      refusal: () => parts.refusal(),
      fatal: (error, exitCode) => parts.failures.fail(plugin.name, error, exitCode),
      state: () => readiness.state(),
      tellOperator: parts.tellOperator,
      busy: (reason) => readiness.busy(reason),
      listRoutes: () => listRoutes(routes),
      serves: parts.serves,
      plugins: parts.plugins,
    }
  }

  for (const plugin of parts.enabled) {
    current = plugin
    try {
      const lifecycle = checkLifecycle(plugin.setup(hostFor(plugin)))
      if (lifecycle !== undefined) parts.lifecycles.add(plugin.name, lifecycle)
    } catch (error) {
      throw PluginSetup(plugin.name, messageOf(error)).with({ cause: error })
    } finally {
      current = undefined
    }
    for (const service of plugin.provides ?? [])
      if (!services.has(service)) throw PluginPromise(plugin.name, service.name)
  }
  for (const { plugin, name } of asked) if (!services.has({ name })) throw PluginNeeds(plugin, name)
  areAllSetUp = true
  return { routes, direct, presentations }
}
