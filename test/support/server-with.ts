/**
 * A server for one test, with the given plugins and settings. It writes no output, and its database is removed when it
 * stops.
 */
import type { DestinationStream } from 'pino'
import { type AnyPlugin, createKernel, type Kernel, type KernelOptions } from '../../kernel/index.ts'
import database from '../../plugins/database/index.ts'
import probes from '../../plugins/probes/index.ts'
import { chosenKind } from './database-kinds.ts'
import { fhirPlugins } from './fhir-plugins.ts'
import { startWithin } from './start-within.ts'
import { stubDefinitions } from './stub-definitions.ts'
import { writersTogether } from './writers-together.ts'

export interface TestServer extends Kernel {
  /** Lines the server logged, parsed. */
  readonly lines: readonly Record<string, unknown>[]
}

/** What most steps of a test need of a server, which may be in another process: see remote-server.ts. */
export type AnsweringServer = Pick<TestServer, 'inject'>

export interface TestServerOptions extends Partial<Omit<KernelOptions, 'log'>> {
  readonly settings?: Record<string, unknown>
  /** Without the writer lease: several of them write into one PostgreSQL at once. */
  readonly together?: boolean
  /** Of a server with `smart`: it makes its signing keys itself. */
  readonly makesKeys?: boolean
}

/** Database, FHIR and probes with the R4 definitions that most tests need. */
export const basic: readonly AnyPlugin[] = [database, stubDefinitions(), ...fhirPlugins, probes]

/** Adds a plugin that stores signing keys before `smart` starts, so that `smart` makes none. Plugins without `smart` stay as they are. */
export const withReadyKeys = async (plugins: readonly AnyPlugin[]): Promise<readonly AnyPlugin[]> => {
  if (!plugins.some(({ name }) => name === 'smart')) return plugins
  const { readySigningKeys } = await import('./ready-signing-keys.ts')
  return plugins.flatMap((one) => (one.name === database.name ? [one, readySigningKeys] : [one]))
}

/** Starts a server on a new database of the chosen kind, unless the settings name one. The caller stops it. */
export const serverWith = async ({
  together = false,
  makesKeys = false,
  ...options
}: TestServerOptions = {}): Promise<TestServer> => {
  const lines: Record<string, unknown>[] = []
  const stream: DestinationStream = { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  const given = options.plugins ?? basic
  const plugins = makesKeys ? given : await withReadyKeys(given)
  const own = options.settings?.database === undefined ? await chosenKind.fresh(plugins) : undefined
  const kernel = await createKernel({
    ...options,
    plugins: together ? plugins.map((one) => (one === database ? writersTogether : one)) : plugins,
    settings: { ...own?.settings, ...options.settings },
    log: { stream, level: 'debug' },
  })
  await startWithin(kernel)
  const stop = async (): Promise<void> => {
    await kernel.stop()
    await own?.remove()
  }
  // Not a spread copy, which would read the kernel's getters once only.
  return Object.create(kernel, { lines: { value: lines }, stop: { value: stop } }) as TestServer
}
