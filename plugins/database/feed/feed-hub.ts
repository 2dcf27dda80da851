/** Publishes the commits of a database to the listeners of its feed. */
import type { Logger } from '../../../kernel/index.ts'
import type { ChangeFeed, FeedCommit, FeedListener, FeedPosition } from './change-feed.ts'
import type { ReadBehind } from './read-behind.ts'

/** Where the commits come from. */
export interface FeedSource {
  /** Number of the newest commit that this process knows of. */
  known(): number
  look(reach: FeedPosition | undefined): Promise<void>
  /** Undefined where nothing is stored of commits. */
  readonly behind?: ReadBehind | undefined
  /** Undefined where no other process writes. */
  readonly isFollowing?: () => boolean
}

export interface FeedHub {
  readonly feed: ChangeFeed
  /** Commits behind this place will be published. */
  open(at: FeedPosition, source: FeedSource): void
  commit(commit: FeedCommit): void
  gap(at: FeedPosition): void
  /** An epoch has begun right behind the last commit that was published. */
  enter(at: FeedPosition): void
  /** Nothing more will be published. */
  close(): void
}

export const createFeedHub = (log: Logger): FeedHub => {
  const listeners = new Set<FeedListener>()
  const waiting = new Set<() => void>()
  let position: FeedPosition | undefined
  let source: FeedSource | undefined

  const notify = (act: (listener: FeedListener) => void): void => {
    for (const listener of listeners)
      try {
        act(listener)
      } catch (error) {
        log.error({ err: error, listener: listener.name }, 'a listener of the feed of changes failed')
      }
    for (const resolve of waiting) resolve()
    waiting.clear()
  }

  return {
    feed: {
      get isComplete() {
        return source !== undefined
      },
      get isFollowing() {
        return source !== undefined && source.isFollowing?.() !== false
      },
      get status() {
        if (position === undefined || source === undefined) return undefined
        const { epoch, seq } = position
        return { epoch, seq, lag: Math.max(0, source.known() - seq) }
      },
      listen(listener) {
        // An object of its own, so that a listener that is added twice is notified twice.
        const own = { ...listener }
        listeners.add(own)
        return () => void listeners.delete(own)
      },
      look: async (reach) => source?.look(reach),
      behind: async (at, until, most) => source?.behind?.(at, until, most),
      changed: (signal) =>
        new Promise((resolve) => {
          if (signal.aborted) return resolve()
          const end = (): void => {
            signal.removeEventListener('abort', end)
            waiting.delete(end)
            resolve()
          }
          waiting.add(end)
          signal.addEventListener('abort', end, { once: true })
        }),
    },
    open(at, from) {
      position = at
      source = from
      notify(() => undefined)
    },
    commit(commit) {
      position = commit
      notify((listener) => listener.commit(commit))
    },
    gap(at) {
      position = at
      notify((listener) => listener.gap(at))
    },
    enter(at) {
      position = at
      notify(() => undefined)
    },
    close() {
      source = undefined
    },
  }
}
