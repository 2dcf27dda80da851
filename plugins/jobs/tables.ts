/** The table of jobs. Times are milliseconds since the epoch, and serve display and cleaning only: leases compare none. */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'

export const jobMigrations: readonly SchemaChange[] = [
  {
    name: 'jobs/0001-job',
    sql: [
      // `starts` counts attempts and is the fence of each; `beat` changes while a server works, and with each change of state.
      'CREATE TABLE job (id varchar(32) PRIMARY KEY, kind varchar(32) NOT NULL, state varchar(16) NOT NULL, client text NOT NULL, person text NOT NULL, spec text NOT NULL, ruling text NOT NULL, upto bigint NOT NULL, server text NOT NULL, starts integer NOT NULL, beat bigint NOT NULL, progress text NOT NULL, error text NOT NULL, created bigint NOT NULL, ended bigint NOT NULL, expires bigint NOT NULL)',
      'CREATE INDEX job_state ON job (state, created)',
    ],
  },
]

const COLUMNS =
  'id, kind, state, client, person, spec, ruling, upto, server, starts, beat, progress, error, created, ended, expires'

export const insertJob = sql(
  'jobs.insert',
  `INSERT INTO job (${COLUMNS}) VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, '', 0, 0, '', '', ?, 0, 0)`,
)
export const readJob = sql('jobs.read', `SELECT ${COLUMNS} FROM job WHERE id = ?`)
export const listJobs = sql('jobs.list', `SELECT ${COLUMNS} FROM job ORDER BY created, id`)
/** A page of jobs, newest first, behind one of them. Null: from the newest on. */
export const listNewest = sql(
  'jobs.newest',
  `SELECT ${COLUMNS} FROM job WHERE (CAST(? AS text) IS NULL OR (created, id) < (SELECT j.created, j.id FROM job j WHERE j.id = ?)) ORDER BY created DESC, id DESC LIMIT ?`,
)
export const countOpen = sql(
  'jobs.count-open',
  "SELECT count(*) AS n FROM job WHERE state IN ('queued', 'running') AND kind = ? AND client = ? AND person = ?",
)
export const readOpen = sql(
  'jobs.open',
  `SELECT ${COLUMNS} FROM job WHERE state IN ('queued', 'running') ORDER BY created, id`,
)
/** Changes nothing where the job has moved on since it was read. */
export const moveJob = sql(
  'jobs.move',
  'UPDATE job SET state = ?, server = ?, starts = ?, error = ?, ended = ?, expires = ?, beat = beat + 1 WHERE id = ? AND state = ? AND server = ? AND starts = ? AND (beat = ? OR CAST(? AS integer) = 1) RETURNING id',
)
/** The fence of a worker: gives a row, locked until COMMIT, only while the attempt is the current one. */
export const beatJob = sql(
  'jobs.beat',
  "UPDATE job SET beat = beat + 1, progress = ? WHERE id = ? AND server = ? AND starts = ? AND state = 'running' RETURNING id",
)
export const readExpired = sql(
  'jobs.expired',
  "SELECT id, kind FROM job WHERE state IN ('finished', 'failed', 'cancelled') AND expires <= ?",
)
/** Jobs whose files and the like are to be removed. */
export const readGivenUp = sql('jobs.given-up', "SELECT id, kind FROM job WHERE state IN ('failed', 'cancelled')")
export const deleteJob = sql(
  'jobs.delete',
  "DELETE FROM job WHERE id = ? AND state IN ('finished', 'failed', 'cancelled') RETURNING id",
)

export type JobState = 'queued' | 'running' | 'finished' | 'failed' | 'cancelled'

/** A row of `job`. Text that there is none of is empty, a time that has not come is 0. */
export interface JobRow {
  readonly id: string
  readonly kind: string
  readonly state: JobState
  readonly client: string
  readonly person: string
  readonly spec: string
  readonly ruling: string
  readonly upto: number
  /** Who works on it, as `toServerText` writes it. */
  readonly server: string
  readonly starts: number
  readonly beat: number
  readonly progress: string
  readonly error: string
  readonly created: number
  readonly ended: number
  readonly expires: number
}
