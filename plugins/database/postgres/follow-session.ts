/** Reads the rows of the feed of changes on PostgreSQL, on a session that gets notifications when there are more. */
import type { Clock } from '../../../kernel/index.ts'
import { sql } from '../contract.ts'
import type { FollowPort } from '../feed/follow-port.ts'
import { askInTime, runInTime } from './ask-in-time.ts'
import { readEpochs, readMark, readRows, toLook } from './feed-rows.ts'
import { CHANGES } from './lease-session.ts'
import { attend, dismiss } from './member-rows.ts'
import type { Session } from './session.ts'

const begin = sql('feed.begin', 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
const commit = sql('feed.commit', 'COMMIT')

export interface FollowSessionOptions {
  readonly session: Session
  readonly clock: Clock
  /** Milliseconds in which an answer has to be there. */
  readonly answerMs: number
}

export const createFollowSession = ({ session, clock, answerMs }: FollowSessionOptions): FollowPort => {
  const ask = askInTime(session, clock, answerMs)
  const run = runInTime(session, clock, answerMs)
  return {
    async listen(notify) {
      session.on('notification', ({ payload }) => {
        const [, seq] = /^\d+\.(\d+)$/.exec(payload ?? '') ?? []
        if (seq !== undefined) notify(Number(seq))
      })
      await ask(`LISTEN ${CHANGES}`)
    },
    async look(at) {
      const [, marks, epochs, rows] = await run([
        { statement: begin, params: [] },
        { statement: readMark, params: [] },
        { statement: readEpochs, params: [at?.epoch ?? 0] },
        { statement: readRows, params: [at?.seq ?? Number.MAX_SAFE_INTEGER] },
        { statement: commit, params: [] },
      ])
      return toLook(marks!.rows, epochs!.rows, rows!.rows)
    },
    attend: async (self, at) => void (await ask(attend(self, 'replica', at))),
    dismiss: async (server) => void (await ask(dismiss([server]))),
    close: () => session.destroy(),
  }
}
