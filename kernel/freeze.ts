/** Turns hooks into runners once all plugins are set up: null where nobody taps, so an unused hook costs one comparison. */
import type { Hook } from 'tapable'
import { LateTap, NotFrozen } from './errors.ts'
import type { HookName, Hooks } from './hooks.ts'

type Run<H> = H extends { promise(...args: infer A): Promise<infer R> }
  ? H extends { call(...args: any[]): any }
    ? (...args: A) => void
    : (...args: A) => Promise<R>
  : never

/** A runner per hook. `null` means that nobody taps. */
export type Runners = {
  readonly beforeRequest: Run<Hooks['beforeRequest']> | null
  readonly authenticate: Run<Hooks['authenticate']> | null
  readonly admit: Run<Hooks['admit']> | null
  readonly authorize: Run<Hooks['authorize']> | null
  readonly onWrite: Run<Hooks['onWrite']> | null
  readonly onCommit: ((...args: Parameters<Hooks['onCommit']['call']>) => void) | null
  readonly onAudit: Run<Hooks['onAudit']> | null
  readonly meter: ((...args: Parameters<Hooks['meter']['call']>) => void) | null
}

interface Tapped {
  taps: { name: string; fn: (...args: any[]) => any; type: string; plugin?: string }[]
}

/** Names the plugin and the hook on whatever a tap throws, because tapable's stack does not. */
const blame = (error: unknown, plugin: string, hook: string): unknown => {
  if (error instanceof Error) {
    const named = error as Error & { plugin?: string; hook?: string }
    named.plugin ??= plugin
    named.hook ??= hook
  }
  return error
}

/** Wraps the taps of a hook so that what they throw names them; `onThrow` swallows (for hooks that are too late to refuse). */
const nameTaps = (hook: Hook<any, any>, name: HookName, onThrow?: (error: unknown) => void): void => {
  for (const tap of (hook as unknown as Tapped).taps) {
    const { fn, type } = tap
    const plugin = tap.plugin ?? tap.name
    if (type === 'promise') {
      tap.fn = async (...args) => {
        try {
          return await fn(...args)
        } catch (error) {
          throw blame(error, plugin, name)
        }
      }
    } else if (type === 'sync') {
      tap.fn = (...args) => {
        try {
          return fn(...args)
        } catch (error) {
          if (onThrow === undefined) throw blame(error, plugin, name)
          return onThrow(blame(error, plugin, name))
        }
      }
    }
  }
}

/** Hooks as one plugin sees them: taps carry its name, and a tap after setup is refused by name. */
export const hooksFor = (hooks: Hooks, plugin: string, isOpen: () => boolean): Hooks => {
  const own: Record<string, unknown> = {}
  for (const [name, hook] of Object.entries(hooks)) {
    const guarded = Object.create(hook)
    for (const method of ['tap', 'tapAsync', 'tapPromise'] as const) {
      guarded[method] = (options: string | { name: string }, fn: (...args: any[]) => any) => {
        if (!isOpen()) throw LateTap(plugin, name)
        const given = typeof options === 'string' ? { name: options } : options
        // `before` and `stage` of tapable see the sentence as the tap's name; `plugin` is ours, for blame.
        ;(hook as any)[method]({ ...given, plugin }, fn)
      }
    }
    own[name] = guarded
  }
  return own as Hooks
}

export interface Freezer {
  readonly run: Runners
  freeze(): void
}

export const createFreezer = (hooks: Hooks, onLateThrow: (error: unknown) => void): Freezer => {
  const runners: Record<string, unknown> = {}
  let frozen = false
  const run = {} as Record<string, unknown>
  for (const name of Object.keys(hooks)) {
    Object.defineProperty(run, name, {
      configurable: true,
      enumerable: true,
      get() {
        if (!frozen) throw NotFrozen()
        return runners[name]
      },
    })
  }
  return {
    run: run as Runners,
    freeze() {
      for (const [name, hook] of Object.entries(hooks) as [HookName, any][]) {
        const sync = typeof hook.call === 'function' && (name === 'onCommit' || name === 'meter')
        nameTaps(hook, name, sync ? onLateThrow : undefined)
        // Not `isUsed()`: that is true as soon as there is an interceptor. Not `hook.promise.bind(hook)`: until its
        // first call that is a delegate which compiles on every call.
        const runner =
          hook.taps.length === 0
            ? null
            : sync
              ? (...args: unknown[]) => hook.call(...args)
              : (...args: unknown[]) => hook.promise(...args)
        runners[name] = runner
        // A plain value from here on: reading it on the hot path is one property load.
        Object.defineProperty(run, name, { value: runner, enumerable: true, writable: false, configurable: false })
      }
      frozen = true
    },
  }
}
