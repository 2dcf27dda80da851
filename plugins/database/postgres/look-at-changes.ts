/** The rows of the feed of changes, read in one snapshot on sessions of the pool. `follow-session.ts` has one of its own. */
import { type Database, sql } from '../contract.ts'
import type { FeedPosition } from '../feed/change-feed.ts'
import type { FeedLook } from '../feed/follow.ts'

const MAX_COMMITS = 500 // commits that one look reads

const readMark = sql(
  'feed.mark',
  'SELECT m.epoch AS epoch, m.seq AS seq, l.durable AS durable FROM cluster_mark m, cluster_lease l WHERE m.one = 1 AND l.one = 1',
)
const readEpochs = sql(
  'feed.epochs',
  'SELECT epoch, term, first_seq AS "firstSeq" FROM cluster_epoch WHERE epoch >= least(?, (SELECT epoch FROM cluster_mark WHERE one = 1)) ORDER BY epoch',
)
const readRows = sql('feed.rows', {
  sqlite: 'SELECT 0 AS seq WHERE 0',
  postgres: `SELECT seq, epoch, convert_from(body, 'UTF8') AS body FROM cluster_change WHERE seq > ? ORDER BY seq LIMIT ${MAX_COMMITS}`,
})

type Number64 = number | string // PostgreSQL returns bigint as text

export const createLookAtChanges =
  (reading: Database['reading']): ((at: FeedPosition) => Promise<FeedLook>) =>
  ({ epoch, seq }) =>
    reading(async (transaction) => {
      const mark = await transaction.get<Record<'epoch' | 'seq' | 'durable', Number64>>(readMark, [])
      if (mark === undefined) throw new Error('cluster_mark has no row')
      const epochs = await transaction.all<{ epoch: Number64; term: string; firstSeq: Number64 }>(readEpochs, [epoch])
      const rows = await transaction.all<{ seq: Number64; epoch: Number64; body: string }>(readRows, [seq])
      return {
        mark: { epoch: Number(mark.epoch), seq: Number(mark.seq) },
        durable: Number(mark.durable),
        epochs: epochs.map((one) => ({ epoch: Number(one.epoch), term: one.term, firstSeq: Number(one.firstSeq) })),
        rows: rows.map((row) => ({ seq: Number(row.seq), epoch: Number(row.epoch), body: row.body })),
        hasMore: rows.length === MAX_COMMITS,
      }
    })
