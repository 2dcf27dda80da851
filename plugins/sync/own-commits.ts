/**
 * The changes that this process commits. They are all there are on SQLite, and on PostgreSQL as long as one process
 * alone writes, which the writer lease ensures.
 */
import type { Hooks, Random } from '../../kernel/index.ts'
import type { Change, ChangeListener, ChangeSource } from './change-source.ts'

export const createOwnCommits = (hooks: Pick<Hooks, 'onCommit'>, random: Random): ChangeSource => {
  let listener: ChangeListener | undefined
  let seq = 0
  hooks.onCommit.tap('live queries', ({ changes }) => {
    // The whole cost while there are no live queries.
    if (listener === undefined) return
    listener.changed(
      changes.map(({ previous, next, resource }): Change => {
        seq += 1
        return { seq, previous, next, resource }
      }),
    )
  })
  return {
    listen(given) {
      listener = given
      seq = 0
      return {
        // What is committed while nobody listens is not counted, so each listening has numbers of its own.
        epoch: random.id(),
        get seq() {
          return seq
        },
        stop() {
          if (listener === given) listener = undefined
        },
      }
    },
  }
}
