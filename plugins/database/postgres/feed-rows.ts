/** The statements that read the rows of the feed of changes behind a place, in one snapshot. */
import { type Sql, sql } from '../contract.ts'
import type { FollowLook } from '../feed/follow-port.ts'

const MAX_COMMITS = 500 // commits that one look reads

export const readMark = sql(
  'feed.mark',
  'SELECT m.epoch AS epoch, m.seq AS seq, l.durable AS durable, l.epoch AS holder, l.beat AS beat FROM cluster_mark m, cluster_lease l WHERE m.one = 1 AND l.one = 1',
)
/** `?`: the epoch of the place. */
export const readEpochs = sql(
  'feed.epochs',
  'SELECT epoch, term, first_seq AS "firstSeq" FROM cluster_epoch WHERE epoch >= least(?, (SELECT epoch FROM cluster_mark WHERE one = 1)) ORDER BY epoch',
)
/** `?`: the number of the place. */
export const readRows: Sql = sql('feed.rows', {
  sqlite: 'SELECT 0 AS seq WHERE 0',
  postgres: `SELECT seq, epoch, convert_from(body, 'UTF8') AS body FROM cluster_change WHERE seq > ? ORDER BY seq LIMIT ${MAX_COMMITS}`,
})

type Rows = readonly Record<string, unknown>[]

/** From the rows of the three statements. */
export const toLook = (marks: Rows, epochs: Rows, rows: Rows): FollowLook => {
  const [mark] = marks
  if (mark === undefined) throw new Error('cluster_mark has no row')
  // PostgreSQL returns a bigint as text in some ways.
  return {
    mark: { epoch: Number(mark.epoch), seq: Number(mark.seq) },
    durable: Number(mark.durable),
    epochs: epochs.map((one) => ({
      epoch: Number(one.epoch),
      term: one.term as string,
      firstSeq: Number(one.firstSeq),
    })),
    rows: rows.map((row) => ({ seq: Number(row.seq), epoch: Number(row.epoch), body: row.body as string })),
    hasMore: rows.length === MAX_COMMITS,
    beat: `${mark.holder}.${mark.beat}`,
  }
}
