/**
 * Installs the requested packages and their dependencies in the database, dependencies first. Packages that are
 * installed already cause no request. Of several servers one installs at a time; the others wait, and then find them
 * installed. Spec: [conformance], the default packages.
 */
import { type Clock, isServerError, type Logger } from '../../kernel/index.ts'
import { contentTag } from './content-tag.ts'
import { DependencyCycle, OtherRelease, PackageMissing, SourceRefused, SourceUnreachable } from './errors.ts'
import type { FetchedPackage, PackageFetcher } from './fetch-package.ts'
import { coreRelease, isForR4, isUnneeded, R4_CORE } from './manifest.ts'
import { isName, isRange, type LocalPackage, type PackageRequest } from './request.ts'
import type { InstallStep } from './service.ts'
import type { InstalledPackage, PackageTables } from './tables.ts'
import { isAtLeast, isExact, satisfies } from './version.ts'

export interface InstallOptions {
  readonly tables: PackageTables
  /** Runs work while no other server installs. */
  readonly alone: (work: () => Promise<void>, signal: AbortSignal) => Promise<void>
  /** Called when there is something to install: a start without work sets up no source and no cache. */
  readonly acquirer: () => Promise<PackageFetcher>
  /** Called once, before the first package is fetched. */
  readonly onWork: () => void
  readonly log: Logger
  readonly clock: Clock
  readonly report: (step: InstallStep) => void
}

/** Name and version of a package that is installed, being installed, or configured as a directory or .tgz. */
interface InstalledVersion {
  readonly name: string
  readonly version: string
  readonly standsFor?: string | undefined
}

const labelOf = ({ name, version }: InstalledVersion): string => `${name}@${version}`

/** Whether a package satisfies a request. With `laterToo`, for a dependency, a later version does as well. */
const serves = (
  { name, version, standsFor }: InstalledVersion,
  wanted: string,
  spec: string,
  laterToo: boolean,
): boolean => {
  const fits = (held: string): boolean => satisfies(spec, held) || (laterToo && isExact(spec) && isAtLeast(held, spec))
  if (name === wanted) return fits(version)
  return standsFor?.startsWith(`${wanted}@`) === true && fits(standsFor.slice(wanted.length + 1))
}

const asHeld = ({ content }: FetchedPackage): InstalledVersion => ({
  ...content.manifest,
  standsFor: content.standsFor,
})

/** True for a source that does not answer or refuses. A source that answers with wrong content is a different error. */
const isOutOfReach = (error: unknown): error is Error =>
  isServerError(error) && (error.key === SourceUnreachable.key || error.key === SourceRefused.key)

export const createInstaller = ({ tables, alone, acquirer, onWork, log, clock, report }: InstallOptions) => {
  let working: Promise<PackageFetcher> | undefined
  const acquire = (): Promise<PackageFetcher> => {
    if (working === undefined) onWork()
    working ??= acquirer()
    return working
  }

  const isLocal = (request: PackageRequest): request is LocalPackage => request.kind !== 'named'
  const isUnchanged = (request: LocalPackage, held: readonly InstalledPackage[]): boolean => {
    const stamp = contentTag(request)
    return held.some((one) => one.source === request.path && one.stamp === stamp)
  }
  const isThere = (request: PackageRequest, held: readonly InstalledPackage[]): boolean =>
    isLocal(request)
      ? isUnchanged(request, held)
      : held.some((one) => serves(one, request.name, request.version, false))

  const installMissing = async (wanted: readonly PackageRequest[], signal: AbortSignal): Promise<void> => {
    const installed: InstalledVersion[] = []
    const given: FetchedPackage[] = []
    const before = await tables.packages()
    installed.push(...before)

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

    const changed = wanted.filter(isLocal).filter((request) => !isUnchanged(request, before))
    // The operator's directories and .tgz files come first: default and other packages may depend on them.
    const byPath = new Map<string, FetchedPackage>()
    for (const request of changed) {
      if (byPath.has(request.path)) continue
      const acquired = await (await acquire()).local(request)
      const { manifest } = acquired.content
      if (!isForR4(manifest))
        throw OtherRelease(`${labelOf(manifest)} in ${request.path}`, manifest.fhirVersions.join(', '))
      byPath.set(request.path, acquired)
      given.push(acquired)
    }
    for (const request of wanted) {
      signal.throwIfAborted()
      if (isLocal(request)) {
        const acquired = byPath.get(request.path)
        if (acquired !== undefined && given.includes(acquired)) await install(acquired, [])
        continue
      }
      const { name, version } = request
      if (installed.some((one) => serves(one, name, version, false))) continue
      const acquired = await get(name, version, false)
      if (acquired === undefined) throw PackageMissing(`${name}@${version}`, (await acquire()).where)
      const { manifest } = acquired.content
      if (!isForR4(manifest)) throw OtherRelease(labelOf(manifest), manifest.fhirVersions.join(', '))
      await install(acquired, [])
    }
  }

  /**
   * Installs those of `wanted` that are not in the database. When it throws, each package is installed completely or
   * not at all.
   */
  return async (wanted: readonly PackageRequest[], signal: AbortSignal): Promise<void> => {
    const held = await tables.packages()
    if (wanted.every((request) => isThere(request, held))) return
    await alone(() => installMissing(wanted, signal), signal)
  }
}
