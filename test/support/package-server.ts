/** The plugin packages on a kernel with a database only, for tests of what a start installs. */
import { join } from 'node:path'
import { createKernel, type Kernel } from '../../kernel/index.ts'
import database from '../../plugins/database/index.ts'
import packages from '../../plugins/packages/index.ts'
import { Definitions, InstallProgress, type InstallStep } from '../../plugins/packages/service.ts'
import { temporaryFolder } from './database-kinds.ts'
import { startRegistry, type TestRegistry } from './registry.ts'
import { startWithin } from './start-within.ts'
import { packageTgz, structure, type TestPackage } from './tgz.ts'
import { writersTogether } from './writers-together.ts'

export interface PackageServer {
  readonly kernel: Kernel
  readonly definitions: Definitions
  readonly steps: readonly InstallStep[]
  /** Log lines, parsed. */
  readonly lines: readonly Record<string, unknown>[]
  /** `name@version` of the installed packages, in order. */
  readonly installed: readonly string[]
  /** Messages of warnings. */
  readonly warnings: readonly string[]
  start(): Promise<void>
  stop(): Promise<void>
}

/** A minimal core package and a minimal SDC package. */
export const CORE: TestPackage = {
  name: 'hl7.fhir.r4.core',
  version: '4.0.1',
  type: 'fhir.core',
  fhirVersions: ['4.0.1'],
  files: {
    'StructureDefinition-Patient.json': structure(
      'Patient',
      'http://hl7.org/fhir/StructureDefinition/Patient',
      '4.0.1',
    ),
    'ValueSet-colours.json': { resourceType: 'ValueSet', id: 'colours', url: 'http://hl7.org/fhir/ValueSet/colours' },
  },
}
export const SDC: TestPackage = {
  name: 'hl7.fhir.uv.sdc',
  version: '4.0.0',
  type: 'IG',
  fhirVersions: ['4.0.1'],
  dependencies: { 'hl7.fhir.r4.core': '4.0.1' },
  files: {
    'StructureDefinition-sdc.json': structure('sdc', 'http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc', '4.0.0'),
  },
}

/** A registry and folders for one test; `leave` removes all of it. */
export interface PackagePlace {
  readonly registry: TestRegistry
  readonly folder: string
  /** The package cache of this place's SQLite database. */
  readonly cache: string
  /** Puts packages into the registry. */
  publish(...packs: TestPackage[]): void
  /**
   * A server on the SQLite file of this place and its registry; on another database it has no writer lease, so that
   * several may run at once.
   */
  server(conformance?: Record<string, unknown>, database?: Record<string, unknown>): Promise<PackageServer>
  /** Starts one and returns it. */
  started(conformance?: Record<string, unknown>, database?: Record<string, unknown>): Promise<PackageServer>
  /** Starts one and returns the message with which the start fails. */
  refused(conformance?: Record<string, unknown>): Promise<string>
  leave(): Promise<void>
}

const serverOn = async (settings: Record<string, unknown>, together: boolean): Promise<PackageServer> => {
  const lines: Record<string, unknown>[] = []
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  const kernel = await createKernel({
    plugins: [together ? writersTogether : database, packages],
    settings,
    log: { stream, level: 'debug' },
  })
  const definitions = kernel.get(Definitions)
  const steps: InstallStep[] = []
  kernel.get(InstallProgress).watch((step) => void steps.push(step))
  return {
    kernel,
    definitions,
    steps,
    lines,
    get installed() {
      return definitions.packages.map(({ name, version }) => `${name}@${version}`)
    },
    get warnings() {
      return lines.filter(({ level }) => level === 'warn').map(({ msg }) => String(msg))
    },
    start: () => startWithin(kernel),
    stop: () => kernel.stop(),
  }
}

export const packagePlace = async (): Promise<PackagePlace> => {
  const registry = await startRegistry()
  const folder = temporaryFolder()
  const servers: PackageServer[] = []
  const server: PackagePlace['server'] = async (conformance = {}, at) => {
    const made = await serverOn(
      {
        database: { sqlite_path: join(folder.path, 'test.sqlite'), ...at },
        conformance: { package_registry: registry.url, ...conformance },
      },
      at !== undefined,
    )
    servers.push(made)
    return made
  }
  return {
    registry,
    folder: folder.path,
    cache: join(folder.path, 'package-cache'),
    publish(...packs) {
      for (const pack of packs) registry.publish({ name: pack.name, version: pack.version, tgz: packageTgz(pack) })
    },
    server,
    async started(conformance, at) {
      const made = await server(conformance, at)
      await made.start()
      return made
    },
    async refused(conformance) {
      let made: PackageServer | undefined
      try {
        // Wrong arguments are refused before there is a server.
        made = await server(conformance)
        await made.start()
      } catch (error) {
        await made?.stop()
        return (error as Error).message
      }
      throw new Error('the start was not refused')
    },
    async leave() {
      for (const one of servers) await one.stop()
      await registry.stop()
      folder.remove()
    },
  }
}
