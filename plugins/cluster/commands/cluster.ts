/**
 * `server cluster`: the servers that share the database, their roles, how far each has followed the primary, and the last
 * takeovers. Changes nothing. Exit codes: 0 there is a primary, 1 there is none, 2 the database could not be read or the
 * arguments were wrong.
 */
import { Command, Flags } from '@oclif/core'
import { commandContext } from '../../../kernel/index.ts'
import { Database, isOpenElsewhere, lookForDatabase } from '../../database/service.ts'
import { ClusterUnreadable } from '../errors.ts'
import { readServers, type Servers } from '../read-servers.ts'

const NO_PRIMARY = 1
const UNREADABLE = 2

/** Columns as wide as their widest cell. */
const asTable = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
const cell = (value: string | number | undefined): string => (value === undefined ? '-' : String(value))

const asText = ({ epoch, seq, servers, epochs }: Servers): string =>
  [
    `epoch ${epoch}, ${seq} commits`,
    '',
    ...asTable([
      ['ROLE', 'HOST', 'PID', 'BUILD', 'EPOCH', 'COMMITS', 'LAG', 'SEEN', 'SERVER'],
      ...servers.map((one) => [
        ...[one.role, one.host, String(one.pid), one.build, cell(one.epoch), cell(one.seq), cell(one.lag)],
        ...[`${one.seen} s ago`, one.server],
      ]),
    ]),
    '',
    ...asTable([
      ['EPOCH', 'BEGAN', 'HOST', 'PID', 'BUILD', 'FIRST COMMIT', 'SERVER'],
      ...epochs.map((one) => [
        ...[String(one.epoch), one.began, one.host, String(one.pid), one.build, String(one.first), one.server],
      ]),
    ]),
  ].join('\n')

export default class Cluster extends Command {
  static override summary = 'Shows the servers that share the database, and how far each has followed the primary.'
  static override flags = { json: Flags.boolean({ description: 'Print JSON.' }) }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Cluster)
    const { settings, kernel, stdout, stderr } = commandContext(this)
    let hasPrimary: boolean
    try {
      const section = settings().section('database')
      const made = await kernel()
      await lookForDatabase(section, made.log)
      if (section.kind === 'postgres') {
        const found = await made.get(Database).readOnly(readServers)
        stdout.write(`${flags.json ? JSON.stringify(found) : asText(found)}\n`)
        hasPrimary = found.servers.some(({ role }) => role === 'primary')
      } else {
        hasPrimary = await isOpenElsewhere(String(section.sqlite_path))
        const text = hasPrimary ? 'a server has the file open' : 'no server has the file open'
        stdout.write(`${flags.json ? JSON.stringify({ isOpen: hasPrimary }) : text}\n`)
      }
    } catch (error) {
      stderr.write(`${ClusterUnreadable((error as Error).message).message}\n`)
      return this.exit(UNREADABLE)
    }
    if (!hasPrimary) this.exit(NO_PRIMARY)
  }
}
