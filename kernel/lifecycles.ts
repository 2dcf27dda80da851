/** Starts the plugins in order of needs and stops in reverse what was started, also when a start fails half-way. */
import type { Logger } from 'pino'
import { PluginStart, StoppedEarly } from './errors.ts'
import type { Lifecycle } from './plugin.ts'
import { reasonOf } from './reason.ts'

export interface Lifecycles {
  add(plugin: string, lifecycle: Lifecycle): void
  /** Of all plugins or only of some. Throws `PluginStart` naming the plugin that failed, `StoppedEarly` after `abort`. */
  start(only?: ReadonlySet<string>): Promise<void>
  /** Aborts the signal that every `start` was given. */
  abort(): void
  /**
   * Each is stopped once. One that fails, or is not done when `late` aborts, is logged by name; the next one follows.
   * Resolves with the names of those.
   */
  stop(late: AbortSignal): Promise<readonly string[]>
}

interface Entry {
  readonly plugin: string
  readonly lifecycle: Lifecycle
}

const whenAborted = (signal: AbortSignal): Promise<'late'> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve('late')
    else signal.addEventListener('abort', () => resolve('late'), { once: true })
  })

export const createLifecycles = (log: Logger): Lifecycles => {
  const all: Entry[] = []
  const started: Entry[] = []
  const aborter = new AbortController()
  const { signal } = aborter
  let starting: { readonly plugin: string; readonly done: Promise<void> } | undefined
  let stopped: Promise<readonly string[]> | undefined

  const startOne = async ({ plugin, lifecycle }: Entry): Promise<void> => {
    try {
      await lifecycle.start?.(signal)
    } catch (error) {
      if (!signal.aborted) throw PluginStart(plugin, reasonOf(error)).with({ cause: error })
      log.debug({ plugin, err: error }, 'the plugin gave up starting')
    }
  }

  const stopAll = async (late: AbortSignal): Promise<readonly string[]> => {
    const failed: string[] = []
    const passed = whenAborted(late)
    // What is still starting cannot be stopped cleanly: it has until the deadline to notice its signal.
    if (starting !== undefined && (await Promise.race([starting.done, passed])) === 'late')
      log.error({ plugin: starting.plugin }, 'the plugin did not give up starting in time')
    for (const { plugin, lifecycle } of started.toReversed()) {
      try {
        if ((await Promise.race([lifecycle.stop?.(), passed])) !== 'late') continue
        log.error({ plugin }, 'the plugin did not stop in time')
      } catch (error) {
        log.error({ plugin, err: error }, 'the plugin failed to stop')
      }
      failed.push(plugin)
    }
    return failed
  }

  return {
    add: (plugin, lifecycle) => void all.push({ plugin, lifecycle }),
    async start(only) {
      for (const entry of all) {
        if (only?.has(entry.plugin) === false) continue
        if (signal.aborted) throw StoppedEarly()
        // Noted before it starts: one that fails half-way must still be stopped.
        started.push(entry)
        const done = startOne(entry)
        starting = { plugin: entry.plugin, done }
        try {
          await done
        } finally {
          starting = undefined
        }
      }
      if (signal.aborted) throw StoppedEarly()
    },
    abort: () => aborter.abort(),
    stop(late) {
      stopped ??= stopAll(late)
      return stopped
    },
  }
}
