/** A server for one test: the plugins and settings asked for, quiet, stopped and cleaned up afterwards. */
import type { DestinationStream } from 'pino'
import { type AnyPlugin, createKernel, type Kernel, type KernelOptions } from '../../kernel/index.ts'
import database from '../../plugins/database/index.ts'
import probes from '../../plugins/probes/index.ts'
import { chosenKind } from './database-kinds.ts'
import { fhirPlugins } from './fhir-plugins.ts'
import { stubDefinitions } from './stub-definitions.ts'

export interface TestServer extends Kernel {
  /** Lines the server logged, parsed. */
  readonly lines: readonly Record<string, unknown>[]
}

export interface TestServerOptions extends Partial<Omit<KernelOptions, 'log'>> {
  readonly settings?: Record<string, unknown>
}

/** Database, FHIR and probes over the R4 definitions that the tests need most. */
export const basic: readonly AnyPlugin[] = [database, stubDefinitions(), ...fhirPlugins, probes]

/** Starts a server on a fresh database of the chosen kind unless the settings name one. The caller stops it. */
export const serverWith = async (options: TestServerOptions = {}): Promise<TestServer> => {
  const lines: Record<string, unknown>[] = []
  const stream: DestinationStream = { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  const own = options.settings?.database === undefined ? await chosenKind.fresh() : undefined
  const kernel = await createKernel({
    plugins: basic,
    ...options,
    settings: { ...own?.settings, ...options.settings },
    log: { stream, level: 'debug' },
  })
  await kernel.start()
  const stop = async (): Promise<void> => {
    await kernel.stop()
    await own?.remove()
  }
  // Spreading would read the phase once; the kernel's own getters must stay alive.
  return Object.create(kernel, { lines: { value: lines }, stop: { value: stop } }) as TestServer
}
