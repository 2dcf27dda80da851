/**
 * Calls `look` with the address of a server of this process on a copy of the SQLite files that a killed one left: it is
 * started much faster than a process, and leaves the files to the server that is killed next.
 */
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './database-kinds.ts'
import { serveHere } from './serve-here.ts'
import type { SpawnOptions } from './spawn-server.ts'

/** `options`: those of the one that was killed. */
export const onCopy = async (
  path: string,
  look: (base: string) => Promise<void>,
  options: Pick<SpawnOptions, 'plugins' | 'settings'> = {},
): Promise<void> => {
  const copies = temporaryFolder()
  const sqlite_path = join(copies.path, 'copy.sqlite')
  for (const suffix of ['', '-wal']) if (existsSync(path + suffix)) copyFileSync(path + suffix, sqlite_path + suffix)
  const server = await serveHere({ database: { kind: 'sqlite', sqlite_path } }, options)
  try {
    await look(server.base)
  } finally {
    await server.stop()
    copies.remove()
  }
}
