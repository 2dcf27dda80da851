/**
 * The directory of this process's PostgreSQL servers: an installation, an initialised data directory to copy from, and
 * a folder ("room") for each server. A shell waits for the end of this process, of any kind, and then ends the servers
 * and removes the directory.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findInstallation, type Installation } from './postgres-installation.ts'

export const SUPERUSER = 'postgres'

export interface Home {
  readonly installation: Installation
  /** A new directory with an initialised `data` in it, owned by the server's account. */
  makeRoom(): Promise<string>
  removeRoom(room: string): Promise<void>
  own(path: string): Promise<void>
}

let home: Promise<Home> | undefined

/** One per process. */
export const openHome = (): Promise<Home> => {
  home ??= build()
  return home
}

/** Environment variables of PostgreSQL's programs. */
export const serverEnvironment = ({ native }: Installation): NodeJS.ProcessEnv => ({
  LC_ALL: 'C',
  TZ: 'UTC',
  LD_LIBRARY_PATH: join(native, 'lib'),
})

const build = async (): Promise<Home> => {
  // Short: the path of a Unix socket may have 107 bytes.
  const root = await mkdtemp(join(tmpdir(), 'rpg-'))
  await chmod(root, 0o755)
  removeAtEnd(root)
  const installation = await findInstallation(root)
  const { uid, gid } = installation.account
  const own = async (path: string): Promise<void> => {
    if (uid !== undefined && gid !== undefined) await chown(path, uid, gid)
  }
  await own(root)
  const template = await openTemplate(installation, root)
  return {
    installation,
    own,
    async makeRoom() {
      const room = await mkdtemp(join(root, 's'))
      await own(room)
      await chmod(room, 0o755)
      await run('tar', ['-xpf', template, '-C', room], {})
      return room
    },
    removeRoom: (room) => rm(room, { recursive: true, force: true }),
  }
}

/**
 * The archive of an initialised data directory: unpacking its thousand files is five times as fast as copying them. A
 * run of many test files shares one through REFHIR_TEST_RUN, a directory that the test runner creates and removes.
 */
const openTemplate = async (installation: Installation, root: string): Promise<string> => {
  const own = join(root, 'postgres.tar')
  const shared = process.env.REFHIR_TEST_RUN === undefined ? own : join(process.env.REFHIR_TEST_RUN, 'postgres.tar')
  if (existsSync(shared)) return shared
  await initialise(installation, join(root, 'data'))
  await run('tar', ['-cf', own, '-C', root, 'data'], {})
  await rm(join(root, 'data'), { recursive: true })
  if (shared !== own) await rename(own, shared)
  return shared
}

const initialise = async (installation: Installation, data: string): Promise<void> => {
  const options = ['-U', SUPERUSER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--wal-segsize=1']
  await run(join(installation.native, 'bin', 'initdb'), ['-D', data, ...options], {
    ...installation.account,
    env: serverEnvironment(installation),
  })
}

const run = async (program: string, words: readonly string[], options: object): Promise<void> => {
  const child = spawn(program, words, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} failed (${code}): ${said}`)
}

const REMOVE = `
read -r _
for file in "$1"/s*/data/postmaster.pid; do
  [ -f "$file" ] || continue
  pid=$(head -n 1 "$file")
  kill -QUIT "$pid" 2>/dev/null
  kill -CONT "$pid" 2>/dev/null
  n=0
  while [ -f "$file" ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
  kill -KILL "$pid" 2>/dev/null
done
rm -rf "$1"`

const removeAtEnd = (root: string): void => {
  const child = spawn('/bin/sh', ['-c', REMOVE, 'sh', root], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // a Ctrl-C in the terminal must not end it first
  })
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
}
