/** One run of the installer: what is installed so far, and how a package is installed after its dependencies. */
import { type Clock, isServerError, type Logger } from '../../kernel/index.ts'
import { DependencyCycle, PackageMissing, SourceRefused, SourceUnreachable } from './errors.ts'
import type { FetchedPackage, PackageFetcher } from './fetch-package.ts'
import { asHeld, type InstalledVersion, labelOf, serves } from './installed-version.ts'
import { coreRelease, isForR4, isUnneeded, R4_CORE } from './manifest.ts'
import { isName, isRange } from './request.ts'
import type { InstallStep } from './service.ts'
import type { PackageTables } from './tables.ts'
import { satisfies } from './version.ts'

/** True for a source that does not answer or refuses. A source that answers with wrong content is a different error. */
const isOutOfReach = (error: unknown): error is Error =>
  isServerError(error) && (error.key === SourceUnreachable.key || error.key === SourceRefused.key)

export interface InstallRunParts {
  readonly tables: Pick<PackageTables, 'install'>
  readonly acquire: () => Promise<PackageFetcher>
  readonly log: Logger
  readonly clock: Clock
  readonly report: (step: InstallStep) => void
}

/**
 * `installed`: what is in the database, to which installed packages are added. `given`: the operator's packages, from which they
 * are removed.
 */
export const createInstallRun = (
  { tables, acquire, log, clock, report }: InstallRunParts,
  installed: InstalledVersion[],
  given: FetchedPackage[],
  signal: AbortSignal,
) => {
  /** From the operator's directories and .tgz files, else from the cache or the source. */
  const get = async (name: string, spec: string, laterToo: boolean): Promise<FetchedPackage | undefined> =>
    given.find((one) => serves(asHeld(one), name, spec, laterToo)) ??
    (await (await acquire()).named(name, spec, signal))

  /** Installs a package after its dependencies. `path` holds the packages that depend on it. */
  const install = async (acquired: FetchedPackage, path: readonly InstalledVersion[]): Promise<void> => {
    const { content, from, sha, contentTag: stamp } = acquired
    const { manifest, definitions, standsFor } = content
    const { name, version } = manifest
    const missing: string[] = []
    for (const [other, spec] of manifest.dependencies)
      if (!(await settle(other, spec, [...path, asHeld(acquired)]))) missing.push(`${other}@${spec}`)
    signal.throwIfAborted()
    const started = clock.monotonic()
    await tables.install(
      { name, version, source: from, sha, stamp, standsFor, missing, installedAt: clock.now() },
      definitions,
    )
    installed.push(asHeld(acquired))
    if (given.includes(acquired)) given.splice(given.indexOf(acquired), 1)
    const duration = Math.round(clock.monotonic() - started)
    report({ step: 'installed', package: labelOf(manifest), from, definitions: definitions.length, duration })
    log.info({ package: labelOf(manifest), definitions: definitions.length, from }, 'installed a package')
  }

  /** Installs one dependency of the last package on the path. False when it is needed and cannot be found. */
  const settle = async (declared: string, spec: string, path: readonly InstalledVersion[]): Promise<boolean> => {
    const dependent = labelOf(path.at(-1)!)
    const label = `${declared}@${spec}`
    const release = coreRelease(declared)
    const isR4 = release === undefined || release === 'r4' || (release === 'any' && spec.startsWith('4.0'))
    if (isUnneeded(declared) || !isR4) {
      log.debug({ package: label, dependent }, 'a dependency that is not needed for R4 definitions is left out')
      return true
    }
    const name = release === undefined ? declared : R4_CORE
    const ring = path.findIndex((one) => one.name === name && satisfies(spec, one.version))
    if (ring !== -1) {
      const way = [...path.slice(ring), path[ring]!].map(labelOf)
      throw DependencyCycle(way[0]!, way.join(' → '))
    }
    if ([...path, ...installed].some((one) => serves(one, name, spec, true))) return true
    const { where } = await acquire()
    let acquired: FetchedPackage | undefined
    let reason = `it is not at ${where}`
    try {
      if (isName(name) && isRange(spec)) acquired = await get(name, spec, true)
    } catch (error) {
      if (name === R4_CORE || !isOutOfReach(error)) throw error
      reason = error.message
    }
    if (acquired === undefined) {
      if (name === R4_CORE) throw PackageMissing(label, where)
      log.warn({ package: label, dependent, reason }, `without ${label}, which ${dependent} depends on: ${reason}`)
      return false
    }
    const { manifest } = acquired.content
    if (!isForR4(manifest) || manifest.type === 'fhir.examples') {
      log.warn(
        { package: label, dependent, fhirVersions: manifest.fhirVersions },
        'a dependency is left out: it is not for FHIR R4, or holds examples',
      )
      return true
    }
    await install(acquired, path)
    return true
  }

  return { get, install }
}
