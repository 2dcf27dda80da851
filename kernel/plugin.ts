/** The declaration of a plugin, and the Host that the kernel passes to it. */
import type { EntitySchema } from '@mikro-orm/core'
import type { Command } from '@oclif/core'
import type { FastifyPluginCallback } from 'fastify'
import type { Logger } from 'pino'
import type { Static, TObject } from 'typebox'
import type { Clock, Random } from './clock.ts'
import type { RequestContext } from './context.ts'
import type { ErrorKind } from './define-error.ts'
import type { DirectRoute } from './direct-router.ts'
import type { Runners } from './freeze.ts'
import type { Gate } from './gates.ts'
import type { Hooks } from './hooks.ts'
import type { Identify } from './identify.ts'
import { withMark } from './kernel-api.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { Presentation } from './presentation.ts'
import type { Readiness } from './readiness.ts'
import type { ListedRoute } from './route-list.ts'
import type { ServerError } from './server-error.ts'
import type { ServerRequest } from './server-request.ts'
import type { Service } from './services.ts'
import type { WatchTap } from './watch-tap.ts'

/**
 * Section path of server.toml (`audit`, `smart.oidc`) → TypeBox object. Several plugins may add keys to a section; a
 * key has one owner.
 */
export type Sections = Readonly<Record<string, TObject>>
export type Config<C extends Sections> = { readonly [Path in keyof C]: Static<C[Path]> }
/** Name of your choice → token of the service. */
export type Needs = Readonly<Record<string, Service<any>>>
export type Instances<N extends Needs> = {
  readonly [Name in keyof N]: N[Name] extends Service<infer T> ? T : never
}

/**
 * One step of the schema. SQL as data, not a MikroORM class: importing MikroORM costs a third of a second, which a
 * start with nothing to migrate does not pay. The database plugin makes the classes when there is something to do.
 */
export interface SchemaChange {
  /** `audit/0001-trail`: the plugin's name, a number, a word. */
  readonly name: string
  /** Statements in order; a plain list serves every kind of database. */
  readonly sql: readonly string[] | { readonly sqlite: readonly string[]; readonly postgres: readonly string[] }
}

/**
 * Declarations are data, and are read of disabled plugins too; `setup` runs only when enabled, is synchronous and does
 * no I/O.
 */
export interface Plugin<C extends Sections = Sections, N extends Needs = Needs> {
  /** Log name, error prefix, migration prefix; for a third party also its section `[plugin.<name>]`. */
  readonly name: string
  /** One sentence for `server plugins`. */
  readonly description?: string
  /** Range of kernel API it was written for, checked at load. */
  readonly api?: string
  readonly config?: C
  /** Services provided by plugins that are set up earlier. */
  readonly needs?: N
  /** Services used when an enabled plugin provides them: set up after it, requested with `host.optional`. */
  readonly uses?: readonly Service<any>[]
  readonly provides?: readonly Service<any>[]
  /** Administrative tables as MikroORM entities; imported when the first of them is used. */
  readonly entities?: () => Promise<readonly EntitySchema<any>[]>
  /** In order; each touches only this plugin's tables. */
  readonly migrations?: readonly SchemaChange[]
  /** Its rows of the status-code table. */
  readonly errors?: Readonly<Record<string, ErrorKind>>
  /** `migrate` → class. Loaded when the command runs, so that it costs nothing at start. */
  readonly commands?: Readonly<Record<string, () => Promise<Command.Class>>>
  enabled?(config: Config<C>): boolean
  // biome-ignore lint/suspicious/noConfusingVoidType: a setup without a return statement is the usual one
  setup(host: Host<C, N>): Lifecycle | void
}

export type AnyPlugin = Plugin<any, any>

/** Keeps the types of the literal, and marks the plugin with the version of the kernel API. */
export const definePlugin = <
  const C extends Sections = Record<never, never>,
  const N extends Needs = Record<never, never>,
>(
  plugin: Plugin<C, N>,
): Plugin<C, N> => Object.freeze(withMark(plugin))

export interface RouteOptions {
  /** Outside all request hooks: no token, no limit, no log. For probes. */
  readonly bare?: boolean
}

export interface Host<C extends Sections = Sections, N extends Needs = Needs> {
  /** To tap, in setup only. */
  readonly hooks: Hooks
  /** To call, at request time only: null when nobody taps, so `if (run.x !== null)`. */
  readonly run: Runners
  readonly config: Config<C>
  readonly needs: Instances<N>
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  /** What caches may take of [server] memory_bytes. */
  readonly memory: MemoryBudget
  provide<T>(service: Service<T>, instance: T): void
  /** In setup only: wraps every tap of every plugin, also of those that are set up later. */
  watchTaps(watch: WatchTap): void
  /**
   * In setup only: `wrap` is given the instance of a service when a plugin set up later provides it, and returns the one that
   * others get. Throws where the service is there already: a plugin that decorates stands in front of those that provide.
   */
  decorate<T>(service: Service<T>, wrap: (instance: T) => T): void
  /** A service listed in `uses`, if an enabled plugin provides it. */
  optional<T>(service: Service<T>): T | undefined
  /**
   * A service that may be set up after this plugin, and may need it. Call `later` in setup only, and the function it
   * returns once all plugins are set up. It does not affect the order; where no enabled plugin provides the service,
   * the start stops.
   */
  later<T>(service: Service<T>): () => T
  /** A request that the server makes itself. Throws 500 for a malformed purpose. */
  request(given: ServerRequest): RequestContext
  /** Who makes a request of a bare route of this plugin. */
  readonly identify: Identify
  /** Encapsulated: decorations stay inside. */
  routes(plugin: FastifyPluginCallback, options?: RouteOptions): void
  /**
   * Answers GET requests of a route in front of the router, where that is possible synchronously. On our own port only.
   */
  direct<Met>(route: DirectRoute<Met>): void
  /** In setup only: shows answers of routes with `presents` in another form, where a request asks for it. */
  present(presentation: Presentation): void
  /** A named check of `/readyz`; `reason` is the fixed phrase a refusal shows. `signal` ends after two seconds. */
  readiness(reason: string, check: (signal: AbortSignal) => Promise<boolean>): void
  /** What /readyz says now. */
  state(): Promise<Readiness>
  /**
   * Called for each request while the server is ready, also in front of the router: an error refuses it, undefined lets
   * it pass. It must not wait. Not called for bare routes.
   */
  gate(refusal: Gate): void
  /**
   * Why requests are refused now, by a gate or because the server stops or has failed; undefined while they are taken. For
   * plugins that hold connections open. Not in setup.
   */
  refusal(): ServerError | undefined
  /**
   * Reports that the server cannot continue. From now on all but bare routes answer 503, and `kernel.failed` resolves,
   * so that the host stops the server. The command `server` does so and exits with `exitCode`, from 1 to 255 (75 asks a
   * supervisor for a restart; 1 by default).
   */
  fatal(error: ServerError, exitCode?: number): void
  /** Shows a line on the terminal the server was started from, never in a log; nowhere where there is none. */
  tellOperator(line: string): void
  /** Sets what start is busy with, e.g. `installing packages`: the reason of /readyz while starting. */
  busy(reason: string): void
  /** The routes of all plugins, in their order. Not in setup. */
  listRoutes(): Promise<readonly ListedRoute[]>
  /** False for a command, which starts some plugins only and does not take part in what servers do together. */
  readonly serves: boolean
  /** All plugins of the kernel, disabled ones too: for plugins that run others' declarations (migrations, entities). */
  readonly plugins: readonly AnyPlugin[]
}

/**
 * The kernel calls `prepare` and `start` in order of needs, `handOver` and `stop` in reverse. A start that fails stops
 * the server and names the plugin; plugins that began to prepare or start are stopped.
 */
export interface Lifecycle {
  /**
   * Work that takes time and changes nothing. It runs after the `prepare` of the plugins in front and concurrently with
   * their `start`, one of which may wait for hours until it may write. The plugin's own `start` comes after it, and
   * checks whether the result is still valid.
   */
  prepare?(signal: AbortSignal): Promise<void>
  start?(signal: AbortSignal): Promise<void>
  /**
   * Called when a stop begins, beside the requests in flight, if the plugin has started: releases what another server
   * waits for. `late` aborts after 8 seconds.
   */
  handOver?(late: AbortSignal): Promise<void>
  /** Called when the requests have ended. */
  stop?(): Promise<void>
}
