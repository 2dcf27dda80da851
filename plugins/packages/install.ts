/**
 * Installs the requested packages and their dependencies in the database, dependencies first. Packages that are
 * installed already cause no request. Of several servers one installs at a time; the others wait, and then find them
 * installed. Spec: [conformance], the default packages.
 */
import type { Clock, Logger } from '../../kernel/index.ts'
import { contentTag } from './content-tag.ts'
import { OtherRelease, PackageMissing } from './errors.ts'
import type { FetchedPackage, PackageFetcher } from './fetch-package.ts'
import { createInstallRun } from './install-run.ts'
import { type InstalledVersion, labelOf, serves } from './installed-version.ts'
import { isForR4 } from './manifest.ts'
import type { LocalPackage, PackageRequest } from './request.ts'
import type { InstallStep } from './service.ts'
import type { InstalledPackage, PackageTables } from './tables.ts'

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
    const before = await tables.packages()
    const installed: InstalledVersion[] = [...before]
    const given: FetchedPackage[] = []
    const { get, install } = createInstallRun({ tables, acquire, log, clock, report }, installed, given, signal)

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
