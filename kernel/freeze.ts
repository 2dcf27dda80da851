/** Turns hooks into runners once all plugins are set up: null where nobody taps, so an unused hook costs one comparison. */
import { AsyncSeriesBailHook, type Hook } from 'tapable'
import { attributeError } from './attribute-error.ts'
import { type RequestContext, steps } from './context.ts'
import { Internal, LateTap, NotFrozen, RelayUnanswered, TapUnawaited } from './errors.ts'
import type { HookName, Hooks, Reply } from './hooks.ts'

type Run<H> = H extends { promise(...args: infer A): Promise<infer R> }
  ? H extends { call(...args: any[]): any }
    ? (...args: A) => void
    : (...args: A) => Promise<R> | R
  : never

/** A runner per hook. `null` means that nobody taps. No promise when all taps are synchronous: what they throw is thrown at once then. */
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

// No hook has more than three arguments, and naming them costs half of what gathering and spreading them does.

interface Tap {
  readonly name: string
  readonly type: 'sync' | 'async' | 'promise'
  readonly plugin?: string
  /** It only checks what other taps did: where there are no others, the hook counts as not tapped. */
  readonly isCheck?: boolean
  fn: (...args: any[]) => any
}

/** Told what a tap threw where nothing can be refused any more. */
export type OnLateThrow = (error: unknown, plugin: string, hook: HookName) => void

const USE_TAP_PROMISE = 'use tapPromise()'
const WAITS_FOR_NOBODY = 'this hook waits for nobody'

/** A hook that is called and done, and in which nothing can be refused: arrive, onCommit, meter. */
const isSync = (hook: { readonly call?: unknown }): boolean => typeof hook.call === 'function'

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function'

/** A promise that nobody awaits would let a guard refuse too late: it is an error of its own. */
const unawaited = (promise: PromiseLike<unknown>, plugin: string, hook: HookName, instead: string): Error => {
  promise.then(undefined, () => undefined)
  return TapUnawaited(plugin, hook, instead)
}

/** Looks at what a tap did: gives the error to throw, or undefined. */
type Look = (plugin: string, result: unknown, argument: unknown) => Error | undefined

/** By hook, where a tap can leave something that nobody behind it can mend. */
const LOOKS: Partial<Record<HookName, Look>> = {
  relay: (plugin, result, request) =>
    result === undefined && steps.hasTakenBody(request as RequestContext)
      ? Internal().with({ cause: RelayUnanswered(plugin) })
      : undefined,
}

/** The tap, and a look behind it where its hook has one. */
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

const nameAsync =
  (fn: Tap['fn'], plugin: string, hook: HookName): Tap['fn'] =>
  async (a, b, c) => {
    try {
      return await fn(a, b, c)
    } catch (error) {
      throw attributeError(error, plugin, hook)
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

/** Wraps the taps of a hook so that what they throw names them. With `onLateThrow` it goes there, and the next tap runs. */
const nameTaps = (hook: Hook<any, any>, name: HookName, onLateThrow?: OnLateThrow): void => {
  for (const tap of hook.taps as unknown as Tap[]) {
    const plugin = tap.plugin ?? tap.name
    const fn = looked(tap.fn, plugin, name)
    tap.fn = tap.type === 'sync' ? nameSync(fn, plugin, name, onLateThrow) : nameAsync(fn, plugin, name)
  }
}

/** A tap that calls back after `count` arguments → one that promises: it cannot throw past its callers, nor call back twice. */
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
        // `before` of tapable sees the sentence as the tap's name; `plugin` is ours, for blame.
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

/** True when all taps are synchronous, and nobody listens in between. */
const waitsForNothing = ({ taps, interceptors }: { taps: readonly Tap[]; interceptors: readonly unknown[] }): boolean =>
  interceptors.length === 0 && taps.every(({ type }) => type === 'sync')

/** Taps that wait for nothing, one after the other: no promise is made, and the caller goes on in the same turn. */
const callInTurn = (hook: { taps: readonly Tap[]; constructor: unknown }): Tap['fn'] => {
  const fns = hook.taps.map(({ fn }) => fn)
  const bails = hook.constructor === AsyncSeriesBailHook
  return (a, b, c) => {
    for (let at = 0; at < fns.length; at += 1) {
      const result = (fns[at] as Tap['fn'])(a, b, c)
      if (bails && result !== undefined) return result
    }
    return undefined
  }
}

export interface Freezer {
  readonly run: Runners
  freeze(): void
}

export const createFreezer = (hooks: Hooks, onLateThrow: OnLateThrow): Freezer => {
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
    freeze() {
      for (const [name, hook] of Object.entries(hooks) as [HookName, any][]) {
        const sync = isSync(hook)
        nameTaps(hook, name, sync ? onLateThrow : undefined)
        // Not `isUsed()`: that is true as soon as there is an interceptor. Not `hook.promise.bind(hook)`: until its
        // first call that is a delegate which compiles on every call.
        const runner = hook.taps.every(({ isCheck }: Tap) => isCheck === true)
          ? null
          : sync
            ? (a: unknown, b: unknown, c: unknown) => hook.call(a, b, c)
            : waitsForNothing(hook)
              ? callInTurn(hook)
              : (a: unknown, b: unknown, c: unknown) => hook.promise(a, b, c)
        // A plain value from here on: reading it on the hot path is one property load.
        Object.defineProperty(run, name, { value: runner, enumerable: true, writable: false, configurable: false })
      }
    },
  }
}
