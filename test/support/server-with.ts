/** A server for one test: the plugins and settings asked for, quiet, stopped and cleaned up afterwards. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DestinationStream } from 'pino'
import { type AnyPlugin, createKernel, type Kernel, type KernelOptions } from '../../kernel/index.ts'
import database from '../../plugins/database/index.ts'
import fhir from '../../plugins/fhir/index.ts'
import probes from '../../plugins/probes/index.ts'
import { stubDefinitions } from './stub-definitions.ts'

export interface TestServer extends Kernel {
  /** Lines the server logged, parsed. */
  readonly lines: readonly Record<string, unknown>[]
}

export interface TestServerOptions extends Partial<Omit<KernelOptions, 'log'>> {
  readonly settings?: Record<string, unknown>
}

/** Database, FHIR and probes over the R4 definitions that the tests need most. */
export const basic: readonly AnyPlugin[] = [database, stubDefinitions(), fhir, probes]

/** Starts a server in memory unless the settings say otherwise. The caller stops it. */
export const serverWith = async (options: TestServerOptions = {}): Promise<TestServer> => {
  const lines: Record<string, unknown>[] = []
  const stream: DestinationStream = { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  const kernel = await createKernel({
    plugins: basic,
    ...options,
    settings: { database: { kind: 'memory' }, ...options.settings },
    log: { stream, level: 'debug' },
  })
  await kernel.start()
  // Spreading would read the phase once; the kernel's own getters must stay alive.
  return Object.defineProperty(kernel, 'lines', { value: lines }) as TestServer
}

/** A folder that is gone when `remove` is called. */
export const temporaryFolder = (): { readonly path: string; remove(): void } => {
  const path = mkdtempSync(join(tmpdir(), 'refhir-test-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
