/**
 * Turns hooks into runners once all plugins are set up. An untapped hook becomes null, so that it costs one comparison.
 */
import { AsyncSeriesBailHook, type Hook } from 'tapable'
import { attributeError } from './attribute-error.ts'
import { type RequestContext, steps } from './context.ts'
import { Internal, LateTap, NotFrozen, RelayUnanswered, TapUnawaited } from './errors.ts'
import type { HookName, Hooks, Reply } from './hooks.ts'
import type { WatchTap } from './watch-tap.ts'

type Run<H> = H extends { promise(...args: infer A): Promise<infer R> }
  ? H extends { call(...args: any[]): any }
    ? (...args: A) => void
    : (...args: A) => Promise<R> | R
  : never

/**
 * A runner for each hook; null when nobody taps it. It returns no promise as long as no tap returns one, and then throws
 * their errors synchronously.
 */
export type Runners = {
  readonly arrive: ((request: RequestContext) => Reply | undefined) | null
  readonly beforeRequest: Run<Hooks['beforeRequest']> | null
  readonly authenticate: Run<Hooks['authenticate']> | null
  readonly admit: Run<Hooks['admit']> | null
  readonly relay: Run<Hooks['relay']> | null
  readonly authorize: Run<Hooks['authorize']> | null
  readonly onWrite: Run<Hooks['onWrite']> | null
  readonly onCommit: ((...args: Parameters<Hooks['onCommit']['call']>) => void) | null
  readonly onAudit: Run<Hooks['onAudit']> | null
  readonly meter: ((...args: Parameters<Hooks['meter']['call']>) => void) | null
}

// Runners name three arguments, the most that a hook has: gathering and spreading them would take twice the time.

interface Tap {
  readonly name: string
  readonly type: 'sync' | 'async' | 'promise'
  readonly plugin?: string
  /** True for a tap that only checks what other taps did: a hook with no other taps counts as not tapped. */
  readonly isCheck?: boolean
  fn: (...args: any[]) => any
}

/** Receives errors of taps of `onCommit` and `meter`, which run too late to refuse anything. */
export type OnLateThrow = (error: unknown, plugin: string, hook: HookName) => void

const USE_TAP_PROMISE = 'use tapPromise()'
const WAITS_FOR_NOBODY = 'this hook waits for nobody'

/** True for `arrive`, `onCommit` and `meter`: they are called synchronously, where nothing can be refused. */
const isSync = (hook: { readonly call?: unknown }): boolean => typeof hook.call === 'function'

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function'

/** The error for a synchronous tap that returns a promise: nobody awaits it, so a guard would refuse too late. */
const unawaited = (promise: PromiseLike<unknown>, plugin: string, hook: HookName, instead: string): Error => {
  promise.then(undefined, () => undefined)
  return TapUnawaited(plugin, hook, instead)
}

/** Checks the result of a tap: returns the error to throw, or undefined. */
type Look = (plugin: string, result: unknown, argument: unknown) => Error | undefined

/** Checks by hook. After a tap of `relay` has taken the body, nobody else can read it: the tap has to reply. */
const LOOKS: Partial<Record<HookName, Look>> = {
  relay: (plugin, result, request) =>
    result === undefined && steps.hasTakenBody(request as RequestContext)
      ? Internal().with({ cause: RelayUnanswered(plugin) })
      : undefined,
}

/** The tap, followed by the check of its hook if there is one. */
const looked = (fn: Tap['fn'], plugin: string, hook: HookName): Tap['fn'] => {
  const look = LOOKS[hook]
  if (look === undefined) return fn
  const checked = (result: unknown, argument: unknown): unknown => {
    const fault = look(plugin, result, argument)
    if (fault !== undefined) throw fault
    return result
  }
  return (a, b, c) => {
    const result = fn(a, b, c)
    return isThenable(result) ? Promise.resolve(result).then((one) => checked(one, a)) : checked(result, a)
  }
}

/**
 * For a tap that may answer later. One that answers at once, with a plain value, is not made to wait: the frequent case
 * of `authenticate` is a token in memory.
 */
const nameAsync =
  (fn: Tap['fn'], plugin: string, hook: HookName): Tap['fn'] =>
  (a, b, c) => {
    const failed = (error: unknown): never => {
      throw attributeError(error, plugin, hook)
    }
    try {
      const result = fn(a, b, c)
      return isThenable(result) ? Promise.resolve(result).catch(failed) : result
    } catch (error) {
      return failed(error)
    }
  }

const nameSync = (fn: Tap['fn'], plugin: string, hook: HookName, onLateThrow?: OnLateThrow): Tap['fn'] => {
  const instead = onLateThrow === undefined ? USE_TAP_PROMISE : WAITS_FOR_NOBODY
  return (a, b, c) => {
    try {
      const result = fn(a, b, c)
      if (result !== undefined && isThenable(result)) throw unawaited(result, plugin, hook, instead)
      return result
    } catch (error) {
      if (onLateThrow === undefined) throw attributeError(error, plugin, hook)
      onLateThrow(attributeError(error, plugin, hook), plugin, hook)
    }
  }
}

/** tapable, which calls the taps where there is an interceptor, wants a promise of them. */
const nameForTapable =
  (fn: Tap['fn'], plugin: string, hook: HookName): Tap['fn'] =>
  async (a, b, c) =>
    nameAsync(fn, plugin, hook)(a, b, c)

/**
 * Wraps the taps of a hook so that their errors name the plugin. With `onLateThrow` an error goes there, and the next
 * tap runs.
 */
const nameTaps = (
  hook: Hook<any, any>,
  name: HookName,
  watches: readonly WatchTap[],
  onLateThrow?: OnLateThrow,
): void => {
  for (const tap of hook.taps as unknown as Tap[]) {
    const plugin = tap.plugin ?? tap.name
    const fn = looked(tap.fn, plugin, name)
    const nameLater = hook.interceptors.length === 0 ? nameAsync : nameForTapable
    tap.fn = tap.type === 'sync' ? nameSync(fn, plugin, name, onLateThrow) : nameLater(fn, plugin, name)
    for (const watch of watches) tap.fn = watch({ hook: name, plugin, name: tap.name }, tap.fn)
  }
}

/**
 * Turns a tap that takes a callback after `count` arguments into one that returns a promise. What it throws becomes a
 * rejection, and a second call of the callback has no effect.
 */
const promised =
  (fn: Tap['fn'], count: number): Tap['fn'] =>
  (...args) =>
    new Promise((resolve, reject) => {
      fn(...args.slice(0, count), (error: unknown, result: unknown) => (error ? reject(error) : resolve(result)))
    })

const isAsync = (fn: unknown): boolean => Object.prototype.toString.call(fn) === '[object AsyncFunction]'

/** Hooks as one plugin sees them: taps carry its name, and a tap after setup is refused by name. */
export const hooksFor = (hooks: Hooks, plugin: string, isOpen: () => boolean): Hooks => {
  const own: Record<string, unknown> = {}
  for (const [name, hook] of Object.entries(hooks) as [HookName, any][]) {
    const inSetup =
      (tap: (options: { name: string; plugin: string }, fn: Tap['fn']) => void) =>
      (options: string | { name: string }, fn: Tap['fn']): void => {
        if (!isOpen()) throw LateTap(plugin, name)
        // tapable's `before` refers to taps by `name`; our `plugin` says which plugin an error belongs to.
        tap({ ...(typeof options === 'string' ? { name: options } : options), plugin }, fn)
      }
    own[name] = Object.assign(Object.create(hook), {
      tap: inSetup((options, fn) => {
        if (isAsync(fn)) throw TapUnawaited(plugin, name, isSync(hook) ? WAITS_FOR_NOBODY : USE_TAP_PROMISE)
        hook.tap(options, fn)
      }),
      tapPromise: inSetup((options, fn) => hook.tapPromise(options, fn)),
      tapAsync: inSetup((options, fn) => hook.tapPromise(options, promised(fn, hook._args.length))),
      intercept: (interceptor: unknown) => {
        if (!isOpen()) throw LateTap(plugin, name)
        hook.intercept(interceptor)
      },
    })
  }
  return own as Hooks
}

/**
 * Calls the taps one after the other, and makes no promise before one of them returns one: until then the caller
 * continues synchronously.
 */
const callInTurn = (hook: { taps: readonly Tap[]; constructor: unknown }): Tap['fn'] => {
  const fns = hook.taps.map(({ fn }) => fn)
  const bails = hook.constructor === AsyncSeriesBailHook
  const callFrom = (first: number, a: unknown, b: unknown, c: unknown): unknown => {
    for (let at = first; at < fns.length; at += 1) {
      const result = (fns[at] as Tap['fn'])(a, b, c)
      if (result instanceof Promise)
        return result.then((one) => (bails && one !== undefined ? one : callFrom(at + 1, a, b, c)))
      if (bails && result !== undefined) return result
    }
    return undefined
  }
  return (a, b, c) => callFrom(0, a, b, c)
}

export interface Freezer {
  readonly run: Runners
  /** Filled during set-up, and asked by `freeze`. */
  readonly watches: WatchTap[]
  freeze(): void
}

export const createFreezer = (hooks: Hooks, onLateThrow: OnLateThrow): Freezer => {
  const watches: WatchTap[] = []
  const run = {} as Record<string, unknown>
  for (const name of Object.keys(hooks)) {
    Object.defineProperty(run, name, {
      configurable: true,
      enumerable: true,
      get() {
        throw NotFrozen()
      },
    })
  }
  return {
    run: run as Runners,
    watches,
    freeze() {
      for (const [name, hook] of Object.entries(hooks) as [HookName, any][]) {
        const sync = isSync(hook)
        nameTaps(hook, name, watches, sync ? onLateThrow : undefined)
        // Not `isUsed()`: that is true as soon as there is an interceptor. Not `hook.promise.bind(hook)`: until its
        // first call that is a delegate which compiles on every call.
        const runner = hook.taps.every(({ isCheck }: Tap) => isCheck === true)
          ? null
          : sync
            ? (a: unknown, b: unknown, c: unknown) => hook.call(a, b, c)
            : hook.interceptors.length === 0
              ? callInTurn(hook)
              : (a: unknown, b: unknown, c: unknown) => hook.promise(a, b, c)
        // A plain value from here on: reading it on the hot path is one property load.
        Object.defineProperty(run, name, { value: runner, enumerable: true, writable: false, configurable: false })
      }
    },
  }
}
