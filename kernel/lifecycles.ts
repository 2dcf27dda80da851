/** Starts the plugins in order of needs, and stops the started ones in reverse, also when a start fails half-way. */
import type { Logger } from 'pino'
import { PluginPrepare, PluginStart, StoppedEarly } from './errors.ts'
import { messageOf } from './message-of.ts'
import type { Lifecycle } from './plugin.ts'

export interface Lifecycles {
  add(plugin: string, lifecycle: Lifecycle): void
  /**
   * Prepares and starts all plugins, or only the named ones. Throws `PluginPrepare` or `PluginStart` naming the plugin
   * that failed, `StoppedEarly` after `abort`.
   */
  start(only?: ReadonlySet<string>): Promise<void>
  /** Aborts the signal that every `prepare` and `start` was given. */
  abort(): void
  /**
   * Calls `handOver` of the started plugins, in reverse. A plugin that fails, or is not done when `late` aborts, is
   * logged by name, and the next one follows. Resolves with the names of the plugins that failed.
   */
  handOver(late: AbortSignal): Promise<readonly string[]>
  /** The same with `stop`, for all plugins that began to prepare or to start, once each. */
  stop(late: AbortSignal): Promise<readonly string[]>
}

interface Entry {
  readonly plugin: string
  readonly lifecycle: Lifecycle
}

/** A `prepare` or a `start` that is running; at most one of each is. */
interface Running {
  readonly plugin: string
  readonly done: Promise<void>
}

const whenAborted = (signal: AbortSignal): Promise<'late'> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve('late')
    else signal.addEventListener('abort', () => resolve('late'), { once: true })
  })

export const createLifecycles = (log: Logger): Lifecycles => {
  const all: Entry[] = []
  const begun = new Set<Entry>()
  const started: Entry[] = []
  const aborter = new AbortController()
  const { signal } = aborter
  let preparing: Running | undefined
  let starting: Running | undefined
  let stopped: Promise<readonly string[]> | undefined

  const runOne = async ({ plugin, lifecycle }: Entry, step: 'prepare' | 'start'): Promise<void> => {
    try {
      await lifecycle[step]?.(signal)
    } catch (error) {
      const Failed = step === 'prepare' ? PluginPrepare : PluginStart
      if (!signal.aborted) throw Failed(plugin, messageOf(error)).with({ cause: error })
      log.debug({ plugin, err: error }, 'the plugin gave up starting')
    }
  }

  /**
   * Runs `prepare` of one plugin after the other, concurrently with the starts. Returns what each plugin's start has to
   * wait for.
   */
  const prepareAll = (entries: readonly Entry[]): ReadonlyMap<Entry, Promise<void>> => {
    const prepared = new Map<Entry, Promise<void>>()
    let before = Promise.resolve()
    for (const entry of entries) {
      if (entry.lifecycle.prepare === undefined) continue
      before = before.then(async () => {
        if (signal.aborted) return
        begun.add(entry)
        preparing = { plugin: entry.plugin, done: runOne(entry, 'prepare') }
        await preparing.done
        preparing = undefined
      })
      before.catch(() => undefined) // reported by the code that awaits it
      prepared.set(entry, before)
    }
    return prepared
  }

  const startAll = async (entries: readonly Entry[], prepared: ReadonlyMap<Entry, Promise<void>>): Promise<void> => {
    for (const entry of entries) {
      await prepared.get(entry)
      if (signal.aborted) throw StoppedEarly()
      // Noted before it starts: one that fails half-way must still be stopped.
      begun.add(entry)
      starting = { plugin: entry.plugin, done: runOne(entry, 'start') }
      try {
        await starting.done
        started.push(entry)
      } finally {
        starting = undefined
      }
    }
    if (signal.aborted) throw StoppedEarly()
  }

  /** Calls the step of each plugin, one after the other, and returns the names of those that failed. */
  const endEach = async (
    entries: readonly Entry[],
    step: 'handOver' | 'stop',
    late: AbortSignal,
    passed: Promise<'late'>,
  ): Promise<readonly string[]> => {
    const verb = step === 'stop' ? 'stop' : 'hand over'
    const failed: string[] = []
    for (const { plugin, lifecycle } of entries) {
      try {
        if ((await Promise.race([lifecycle[step]?.(late), passed])) !== 'late') continue
        log.error({ plugin }, `the plugin did not ${verb} in time`)
      } catch (error) {
        log.error({ plugin, err: error }, `the plugin failed to ${verb}`)
      }
      failed.push(plugin)
    }
    return failed
  }

  const stopAll = async (late: AbortSignal): Promise<readonly string[]> => {
    const passed = whenAborted(late)
    // A plugin that is still starting cannot be stopped cleanly: it has until the deadline to react to its signal.
    for (const { plugin, done } of [preparing, starting].filter((one) => one !== undefined)) {
      const ended = done.catch(() => undefined)
      if ((await Promise.race([ended, passed])) === 'late')
        log.error({ plugin }, 'the plugin did not give up starting in time')
    }
    return endEach(all.filter((entry) => begun.has(entry)).toReversed(), 'stop', late, passed)
  }

  return {
    add: (plugin, lifecycle) => void all.push({ plugin, lifecycle }),
    async start(only) {
      const entries = all.filter(({ plugin }) => only?.has(plugin) !== false)
      const prepared = prepareAll(entries)
      // A prepare that fails ends the start, however long another start waits.
      const failing = [...prepared.values()].map((one) => one.then(() => new Promise<never>(() => undefined)))
      await Promise.race([startAll(entries, prepared), ...failing])
    },
    abort: () => aborter.abort(),
    handOver: (late) => endEach(started.toReversed(), 'handOver', late, whenAborted(late)),
    stop(late) {
      stopped ??= stopAll(late)
      return stopped
    },
  }
}
