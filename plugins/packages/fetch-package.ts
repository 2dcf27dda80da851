/** Loads one package into memory: from disk, from the cache, or from the source by way of the cache. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { isServerError, type Logger, type ServerError } from '../../kernel/index.ts'
import { readArchive } from './archive.ts'
import { type CachedFile, type PackageCache, readCached } from './cache.ts'
import { type PackageContent, readPackageContent } from './content.ts'
import { contentTag } from './content-tag.ts'
import { LocalUnreadable, SourceUnreachable } from './errors.ts'
import { readFolder } from './folder.ts'
import { describeFailure } from './http.ts'
import type { LocalPackage } from './request.ts'
import type { InstallStep } from './service.ts'
import type { PackageSource } from './source.ts'
import { bestOf, isExact } from './version.ts'

/** A package in memory and where it came from. */
export interface FetchedPackage {
  readonly content: PackageContent
  /** Absolute path, or URL of the source. */
  readonly from: string
  readonly sha: string
  /** For a directory or .tgz of the operator: see `contentTag`. */
  readonly contentTag: string | undefined
}

export interface PackageFetcher {
  /** URL of the source without credentials, for messages. */
  readonly where: string
  /** Reads a directory or .tgz. Throws when it is neither or cannot be read. */
  local(request: LocalPackage): Promise<FetchedPackage>
  /** Loads a version, or the best one of a range; undefined when neither cache nor source has it. */
  named(name: string, spec: string, signal: AbortSignal): Promise<FetchedPackage | undefined>
}

export interface AcquirerOptions {
  readonly source: PackageSource
  readonly cache: PackageCache
  readonly log: Logger
  readonly report: (step: InstallStep) => void
}

export const createAcquirer = ({ source, cache, log, report }: AcquirerOptions): PackageFetcher => {
  const counting = (label: string) => (files: number) => report({ step: 'read', package: label, files })

  const readLocal = async (request: LocalPackage): Promise<FetchedPackage> => {
    const { kind, path } = request
    const stamp = contentTag(request)
    if (kind === 'folder') {
      const content = await readPackageContent(readFolder(path), path, undefined, counting(path))
      return { content, from: path, sha: content.digest, contentTag: stamp }
    }
    const hash = createHash('sha256')
    const hashed = async function* () {
      for await (const part of createReadStream(path, { highWaterMark: 256 * 1024 })) {
        hash.update(part)
        yield part as Buffer
      }
    }
    const content = await readPackageContent(readArchive(hashed(), path), path, undefined, counting(path))
    return { content, from: path, sha: hash.digest('hex'), contentTag: stamp }
  }

  // A source that did not answer once is not tried again, because each timeout takes half a minute.
  let down: ServerError | undefined
  const ask = async <T>(label: string, work: () => Promise<T>): Promise<T> => {
    if (down !== undefined)
      throw SourceUnreachable(label, source.where, 'it did not answer before').with({ cause: down })
    try {
      return await work()
    } catch (error) {
      if (isServerError(error) && error.key === SourceUnreachable.key) down = error
      throw error
    }
  }

  /** Resolves a range to a version: by the source, or from the cache while the source cannot be reached. */
  const pick = async (name: string, spec: string, signal: AbortSignal): Promise<string | undefined> => {
    if (isExact(spec)) return spec
    try {
      return await ask(`${name}@${spec}`, () => source.resolve(name, spec, signal))
    } catch (error) {
      if (!isServerError(error) || error.key !== SourceUnreachable.key) throw error
      const cached = bestOf(await cache.versions(name), spec)
      if (cached === undefined) throw error
      log.warn(
        { package: `${name}@${spec}`, cached, err: error },
        'the package source is out of reach; using the cache',
      )
      return cached
    }
  }

  return {
    where: source.where,
    async local(request) {
      try {
        return await readLocal(request)
      } catch (error) {
        if (isServerError(error) || (error as NodeJS.ErrnoException).code === undefined) throw error
        throw LocalUnreadable(request.path, describeFailure(error)).with({ cause: error })
      }
    },
    async named(name, spec, signal) {
      const version = await pick(name, spec, signal)
      if (version === undefined) return undefined
      const label = `${name}@${version}`
      const read = (file: CachedFile, from: string) =>
        readPackageContent(
          readArchive(readCached(file), `${label} from ${from}`),
          label,
          { name, version },
          counting(label),
        )
      const cached = await cache.find(name, version)
      if (cached !== undefined)
        return { content: await read(cached, cached.path), from: cached.path, sha: cached.sha, contentTag: undefined }
      const download = await ask(label, () => source.open(name, version, signal))
      if (download === undefined) return undefined
      const { from, size } = download
      const kept = await cache.keep(
        download,
        name,
        version,
        (file) => read(file, from),
        (received) =>
          report({ step: 'download', package: label, from, received, ...(size === undefined ? {} : { total: size }) }),
      )
      return { content: kept.checked, from, sha: kept.sha, contentTag: undefined }
    },
  }
}
