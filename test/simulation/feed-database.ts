/** PostgreSQL in a simulation of the feed: what is committed, what of it is on disk, and the rows for followers. */
import type { FeedPosition } from '../../plugins/database/feed/change-feed.ts'
import { encodePublications, type Publication } from '../../plugins/database/feed/publication.ts'

export interface Logged {
  readonly epoch: number
  readonly key: number
  readonly version: number
}
export const createFeedDatabase = () => {
  const log: Logged[] = []
  /** Numbers of the commits of each key. */
  const commits = new Map<number, number[]>()
  const rows = new Map<number, FeedPosition & { body: string }>()
  const epochs: { epoch: number; term: string; firstSeq: number }[] = []
  let terms = 0
  const state = { epoch: 0, crashed: 0, durable: 0, flushed: 0, beat: 0, hasRows: true, restores: 0 }
  const cutTo = (seq: number): void => {
    log.length = seq
    for (const [key, all] of commits)
      commits.set(
        key,
        all.filter((number) => number <= seq),
      )
    for (const number of rows.keys()) if (number > seq) rows.delete(number)
    state.flushed = Math.min(state.flushed, seq)
    state.durable = Math.min(state.durable, seq)
  }
  return {
    ...{ log, rows, epochs, state },
    /** Version of a key after so many commits. */
    versionAt(key: number, seq = log.length): number {
      const all = commits.get(key) ?? []
      return seq >= log.length ? all.length : all.findLastIndex((number) => number <= seq) + 1
    },
    crash() {
      cutTo(state.flushed)
      state.crashed = state.epoch
    },
    restore(seq: number) {
      cutTo(seq)
      while ((epochs.at(-1)?.firstSeq ?? 0) > seq + 1) epochs.pop()
      state.epoch = epochs.at(-1)?.epoch ?? 0
      state.restores += 1
    },
    /** One durable transaction, as everything before it is then. */
    take(): FeedPosition {
      terms += 1
      state.epoch += 1
      state.flushed = log.length
      state.durable = log.length
      epochs.push({ epoch: state.epoch, term: `t${terms}`, firstSeq: log.length + 1 })
      return { epoch: state.epoch, seq: log.length }
    },
    commit(key: number, isRelaxed: boolean): number {
      const all = commits.get(key) ?? []
      const version = all.length + 1
      log.push({ epoch: state.epoch, key, version })
      const seq = log.length
      commits.set(key, [...all, seq])
      const body = encodePublications([changeOf(key, version)]).toString()
      if (state.hasRows) rows.set(seq, { seq, epoch: state.epoch, body })
      if (!isRelaxed) state.flushed = seq
      return seq
    },
  }
}
export type FeedDatabase = ReturnType<typeof createFeedDatabase>
export const changeOf = (key: number, version: number): Publication => ({
  ...{ type: 'Patient', id: `k${key}`, rid: key, version, stamp: version, deleted: false },
})
