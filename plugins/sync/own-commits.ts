/**
 * The changes that this process commits. On SQLite there are no others. They are counted in memory, each as a commit of
 * its own.
 */
import type { Hooks, Random } from '../../kernel/index.ts'
import type { Change, ChangeListener, ChangeSource, Versions } from './change-source.ts'
import { type Place, termMarkOf, WHOLE } from './place.ts'

export const createOwnCommits = (hooks: Pick<Hooks, 'onCommit'>, random: Random): ChangeSource => {
  let listener: ChangeListener | undefined
  let seq = 0
  let term = ''
  const here = (): Place => ({ epoch: 0, term, seq, within: WHOLE })
  hooks.onCommit.tap('live queries', ({ changes }) => {
    // The whole cost while there are no live queries.
    if (listener === undefined) return
    const own = changes.map(({ previous, next, resource }): Change & { readonly versions: Versions } => {
      seq += 1
      return { place: here(), type: next.type, versions: { previous, next, resource } }
    })
    listener.heard(
      own.map(({ place, type, versions: { next } }) => ({ spot: place, type, id: next.id, version: next.version })),
    )
    listener.changed(own)
  })
  return {
    listen(given) {
      listener = given
      seq = 0
      // What is committed while nobody listens is not counted, so each listening has numbers of its own.
      term = termMarkOf(random.id())
      const start = here()
      return {
        from: start,
        start,
        settled: async () => undefined,
        holds: async (place) => listener === given && place.term === term && place.seq <= seq,
        behind: async () => undefined,
        stop() {
          if (listener === given) listener = undefined
        },
      }
    },
  }
}
