/** Reads the rows of the feed of changes on PostgreSQL, on a session that gets notifications when there are more. */
import type { Clock } from '../../../kernel/index.ts'
import type { FollowPort } from '../feed/follow-port.ts'
import { askInTime } from './ask-in-time.ts'
import { CHANGES } from './lease-session.ts'
import { attend, dismiss } from './member-rows.ts'
import type { Session } from './session.ts'

const MAX_COMMITS = 500 // commits that one look reads

const lookFrom = (epoch: number, seq: number): string => `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT m.epoch, m.seq, l.durable, l.epoch AS holder, l.beat FROM cluster_mark m, cluster_lease l WHERE m.one = 1 AND l.one = 1;
SELECT epoch, term, first_seq AS "firstSeq" FROM cluster_epoch WHERE epoch >= least(${epoch}, (SELECT epoch FROM cluster_mark WHERE one = 1)) ORDER BY epoch;
SELECT seq, epoch, convert_from(body, 'UTF8') AS body FROM cluster_change WHERE seq > ${seq} ORDER BY seq LIMIT ${MAX_COMMITS};
COMMIT`

export interface FollowSessionOptions {
  readonly session: Session
  readonly clock: Clock
  /** Milliseconds in which an answer has to be there. */
  readonly answerMs: number
}

export const createFollowSession = ({ session, clock, answerMs }: FollowSessionOptions): FollowPort => {
  const ask = askInTime(session, clock, answerMs)
  return {
    async listen(notify) {
      session.on('notification', ({ payload }) => {
        const [, seq] = /^\d+\.(\d+)$/.exec(payload ?? '') ?? []
        if (seq !== undefined) notify(Number(seq))
      })
      await ask(`LISTEN ${CHANGES}`)
    },
    async look(at) {
      const [, marks, epochs, rows] = await ask(lookFrom(at?.epoch ?? 0, at?.seq ?? Number.MAX_SAFE_INTEGER))
      const { epoch, seq, durable, holder, beat } = marks!.rows[0]
      return {
        mark: { epoch, seq },
        durable,
        epochs: epochs!.rows,
        rows: rows!.rows,
        hasMore: rows!.rows.length === MAX_COMMITS,
        beat: `${holder}.${beat}`,
      }
    },
    attend: async (self, at) => void (await ask(attend(self, 'replica', at))),
    dismiss: async (server) => void (await ask(dismiss([server]))),
    close: () => session.destroy(),
  }
}
