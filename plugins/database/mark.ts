/** Reads the order of commits from the tables of the writer lease, for servers that follow the one that writes. */
import { type Database, sql } from './contract.ts'

export interface Mark {
  /** 0 before the first server that writes. */
  readonly epoch: number
  /** Number of the last commit. Every commit up to it can be read by whoever reads it. */
  readonly seq: number
  /** Random text of the epoch; undefined before the first one. */
  readonly term: string | undefined
  /** Rises each second while the server that writes is alive. */
  readonly beat: number
}

export interface RecordedEpoch {
  readonly term: string
  /** Number of its last commit, where another epoch has followed. */
  readonly lastSeq: number | undefined
}

type Number64 = number | string // PostgreSQL returns bigint as text

const mark = sql(
  'database.mark',
  'SELECT m.epoch AS epoch, m.seq AS seq, l.beat AS beat, e.term AS term FROM cluster_mark m JOIN cluster_lease l ON l.one = m.one LEFT JOIN cluster_epoch e ON e.epoch = m.epoch WHERE m.one = 1',
)
const epoch = sql(
  'database.epoch',
  'SELECT e.term AS term, (SELECT min(n.first_seq) FROM cluster_epoch n WHERE n.epoch > e.epoch) AS next FROM cluster_epoch e WHERE e.epoch = ?',
)

export const readMark = async (database: Pick<Database, 'get'>): Promise<Mark> => {
  const row = await database.get<{ epoch: Number64; seq: Number64; beat: Number64; term: string | null }>(mark, [])
  if (row === undefined) throw new Error('cluster_mark has no row')
  return { epoch: Number(row.epoch), seq: Number(row.seq), beat: Number(row.beat), term: row.term ?? undefined }
}

/** Undefined where the database has no epoch of this number. */
export const readEpoch = async (
  database: Pick<Database, 'get'>,
  number: number,
): Promise<RecordedEpoch | undefined> => {
  const row = await database.get<{ term: string; next: Number64 | null }>(epoch, [number])
  return row && { term: row.term, lastSeq: row.next === null ? undefined : Number(row.next) - 1 }
}
