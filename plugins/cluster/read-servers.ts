/** Reads the servers that share the database. */
import { sql, type ThreadReader } from '../database/service.ts'

const EPOCHS = 10 // newest ones that are shown
const ALIVE_SECONDS = 8 // after which another server takes over

export interface ServerLine {
  readonly role: 'primary' | 'standby' | 'replica'
  readonly server: string
  readonly host: string
  readonly pid: number
  readonly build: string
  /** Of a primary and a replica. */
  readonly epoch?: number
  /** Number of its last commit; of a replica, of the last one that it has read, up to a second ago. */
  readonly seq?: number
  /** Commits of which a replica was behind the newest one then. */
  readonly lag?: number
  /** Seconds since its last sign of life. */
  readonly seen: number
}

export interface EpochLine {
  readonly epoch: number
  /** Number of the first commit in it. */
  readonly first: number
  /** ISO 8601, on the clock of the server that began it. */
  readonly began: string
  readonly server: string
  readonly host: string
  readonly pid: number
  readonly build: string
}

export interface Servers {
  readonly epoch: number
  /** Number of the newest commit. */
  readonly seq: number
  /** The primary first, where there is one that gives signs of life. */
  readonly servers: readonly ServerLine[]
  /** Newest first. */
  readonly epochs: readonly EpochLine[]
}

type Text = Readonly<Record<string, string | number | null>>

const seen = (at: string): string => `extract(epoch FROM clock_timestamp() - ${at})::float8 AS seen`
const readMark = sql('cluster.mark', 'SELECT epoch, seq FROM cluster_mark WHERE one = 1')
const readHolder = sql(
  'cluster.holder',
  `SELECT server, host, pid, build, epoch, ${seen('at')} FROM cluster_lease WHERE one = 1 AND released = 0 AND at IS NOT NULL`,
)
const readMembers = sql(
  'cluster.members',
  `SELECT role, server, host, pid, build, epoch, seq, ${seen('at')} FROM cluster_member ORDER BY role, host, pid, server`,
)
const readEpochs = sql(
  'cluster.epochs',
  `SELECT epoch, first_seq AS first, at, server, host, pid, build FROM cluster_epoch ORDER BY epoch DESC LIMIT ${EPOCHS}`,
)

/** A figure as it is shown: the tables have eight-byte integers, which come as text. */
const numberOf = (value: string | number | null | undefined): number => Number(value ?? 0)
const textOf = (value: string | number | null | undefined): string => String(value ?? '')

const whoOf = (row: Text) => ({
  server: textOf(row.server),
  host: textOf(row.host),
  pid: numberOf(row.pid),
  build: textOf(row.build),
})
const lineOf = (role: ServerLine['role'], row: Text, newest: number): ServerLine => {
  const line = { role, ...whoOf(row), seen: Math.round(Math.max(0, numberOf(row.seen)) * 10) / 10 }
  // One that waits follows nothing.
  if (role === 'standby') return line
  if (role === 'primary') return { ...line, epoch: numberOf(row.epoch), seq: newest }
  const seq = numberOf(row.seq)
  return { ...line, epoch: numberOf(row.epoch), seq, lag: Math.max(0, newest - seq) }
}

export const readServers = async (reader: ThreadReader): Promise<Servers> => {
  // Members first: what they have read is not newer than the mark then.
  const members = await reader.all<Text>(readMembers, [])
  const holders = await reader.all<Text>(readHolder, [])
  const [mark] = await reader.all<Text>(readMark, [])
  const epochs = await reader.all<Text>(readEpochs, [])
  const seq = numberOf(mark?.seq)
  return {
    epoch: numberOf(mark?.epoch),
    seq,
    servers: [
      ...holders.filter((row) => numberOf(row.seen) < ALIVE_SECONDS).map((row) => lineOf('primary', row, seq)),
      ...members.map((row) => lineOf(row.role === 'replica' ? 'replica' : 'standby', row, seq)),
    ],
    epochs: epochs.map((row) => ({
      epoch: numberOf(row.epoch),
      first: numberOf(row.first),
      began: new Date(numberOf(row.at)).toISOString(),
      ...whoOf(row),
    })),
  }
}
