/** The server under test on a fresh SQLite file: started, stopped and started again by the figures. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import type { Settings } from './plugins.ts'
import { type Subject, startSubject } from './process/subject.ts'

export interface House extends Pick<Subject, 'cpu' | 'profile' | 'stop'>, Partial<Pick<Subject, 'turns'>> {
  readonly address: string
}

export interface Place {
  readonly sqlitePath: string
  path(name: string): string
  /** Bytes of the database, with its log. */
  size(): number
  remove(): void
}

export const createPlace = (): Place => {
  const folder = mkdtempSync(join(tmpdir(), 'refhir-bench-'))
  const sqlitePath = join(folder, 'bench.sqlite')
  const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
  return {
    sqlitePath,
    path: (name) => join(folder, name),
    size: () => sizeOf(sqlitePath) + sizeOf(`${sqlitePath}-wal`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export interface HouseOptions {
  readonly settings?: Settings
  /** Let its threads use every core. */
  readonly unbound?: boolean
  /** The file in `process/` that starts it. */
  readonly process?: 'house' | 'together' | 'untraced' | 'feed-times'
}

/** Starts it with its defaults, on SQLite in a file; resolves when it is ready. */
export const startHouse = async (
  bench: Pick<Bench, 'cores'>,
  place: Place,
  options: HouseOptions = {},
): Promise<House & Pick<Subject, 'ask'>> => {
  const { settings = {}, unbound = false, process = 'house' } = options
  const subject: Subject = startSubject(process, {
    cores: bench.cores,
    unbound,
    logPath: place.path('house.log'),
  })
  try {
    const address = await subject.ask<string>('start', {
      ...settings,
      server: { bind: '127.0.0.1:0', ...settings.server },
      database: { kind: 'sqlite', sqlite_path: place.sqlitePath, ...settings.database },
    })
    const { ask, cpu, turns, profile, stop } = subject
    return { address, ask, cpu, turns, profile, stop }
  } catch (error) {
    await subject.stop()
    throw error
  }
}
