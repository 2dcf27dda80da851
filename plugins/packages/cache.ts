/**
 * The package cache on disk: `name#version.tgz` with its SHA-256 beside it. A file gets this name only after it was
 * verified, and the hash shows whether it has changed since. Spec: [conformance] package_cache.
 */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream, type ReadStream } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Clock, isServerError, type Random } from '../../kernel/index.ts'
import { ArchiveRefused, CacheUnusable, HashMismatch } from './errors.ts'
import { describeFailure } from './http.ts'
import type { Download } from './source.ts'

const DOWNLOAD_BYTES = 1024 * 1024 * 1024 // bytes; the largest published package has some hundred megabytes
const ABANDONED_MS = 24 * 60 * 60 * 1000 // a part file this old belongs to a process that was killed
const PART = '.part'

/** A verified .tgz in the cache. */
export interface CachedFile {
  readonly path: string
  /** SHA-256 of the .tgz, hexadecimal. */
  readonly sha: string
}

export interface PackageCache {
  /** Its directory, absolute. */
  readonly place: string
  /** The file of a version, if its hash is still right; a damaged one is removed and reported. */
  find(name: string, version: string): Promise<CachedFile | undefined>
  /** Versions of a package in the cache, unverified. */
  versions(name: string): Promise<readonly string[]>
  /**
   * Stores a download: writes it to a temporary file, checks the promised hashes, calls `check`, and only then renames
   * it. On any failure no file is left.
   */
  keep<T>(
    download: Download,
    name: string,
    version: string,
    check: (file: CachedFile) => Promise<T>,
    onBytes: (received: number) => void,
  ): Promise<CachedFile & { readonly checked: T }>
}

export interface CacheOptions {
  readonly path: string
  readonly clock: Clock
  readonly random: Random
  readonly onDamaged: (path: string) => void
}

/** The bytes of a cached file, in chunks of a size that suits unpacking. */
export const readCached = ({ path }: CachedFile): ReadStream => createReadStream(path, { highWaterMark: 256 * 1024 })

const hashFile = async (path: string): Promise<string> => {
  const hash = createHash('sha256')
  for await (const part of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(part)
  return hash.digest('hex')
}

export const createPackageCache = ({ path, clock, random, onDamaged }: CacheOptions): PackageCache => {
  const place = resolve(path)
  const fileOf = (name: string, version: string): string => join(place, `${name}#${version}.tgz`)
  const hashFileOf = (file: string): string => `${file}.sha256`

  const unusable = (error: unknown): unknown =>
    isServerError(error) || (error as NodeJS.ErrnoException).code === undefined
      ? error
      : CacheUnusable(place, describeFailure(error)).with({ cause: error })

  const prepare = async (): Promise<void> => {
    await mkdir(place, { recursive: true })
    for (const entry of await readdir(place)) {
      if (!entry.endsWith(PART)) continue
      const part = join(place, entry)
      const { mtimeMs } = await stat(part).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
      if (clock.now() - mtimeMs > ABANDONED_MS) await rm(part, { force: true })
    }
  }

  /** Writes a download to a file and calculates all promised hashes. Returns its SHA-256. */
  const write = async (
    { bytes, hashes, from }: Download,
    file: string,
    label: string,
    onBytes: (received: number) => void,
  ): Promise<string> => {
    const sha256 = createHash('sha256')
    const promised = hashes.map(({ algorithm, hex }) => ({ algorithm, hex, hash: createHash(algorithm) }))
    let received = 0
    const watched = async function* () {
      for await (const part of bytes) {
        received += part.byteLength
        if (received > DOWNLOAD_BYTES) throw ArchiveRefused(label, `it is larger than ${DOWNLOAD_BYTES} bytes`)
        for (const hash of [sha256, ...promised.map((one): Hash => one.hash)]) hash.update(part)
        onBytes(received)
        yield part
      }
    }
    // Opened explicitly: a stream that opens the file itself might do so after a failure has removed it.
    const handle = await open(file, 'wx')
    await pipeline(watched, handle.createWriteStream())
    for (const { algorithm, hex, hash } of promised) {
      const found = hash.digest('hex')
      if (found !== hex) throw HashMismatch(label, from, algorithm, found, hex)
    }
    return sha256.digest('hex')
  }

  return {
    place,
    async find(name, version) {
      const file = fileOf(name, version)
      try {
        if ((await stat(file).catch(() => undefined)) === undefined) return undefined
        const [expected] = (await readFile(hashFileOf(file), 'utf8').catch(() => '')).split(/\s/, 1)
        const sha = await hashFile(file)
        if (sha === expected) return { path: file, sha }
        onDamaged(file)
        await Promise.all([rm(file, { force: true }), rm(hashFileOf(file), { force: true })])
        return undefined
      } catch (error) {
        throw unusable(error)
      }
    },
    async versions(name) {
      const entries = await readdir(place).catch(() => [])
      return entries.flatMap((entry) =>
        entry.startsWith(`${name}#`) && entry.endsWith('.tgz') ? [entry.slice(name.length + 1, -'.tgz'.length)] : [],
      )
    },
    async keep(download, name, version, check, onBytes) {
      const label = `${name}@${version}`
      const file = fileOf(name, version)
      const part = join(place, `${name}#${version}.${random.id()}${PART}`)
      try {
        await prepare()
        const sha = await write(download, part, label, onBytes)
        const checked = await check({ path: part, sha })
        // The hash file is renamed first: a process killed in between leaves a hash without a file, which is harmless,
        // and not a file without a hash.
        await writeFile(hashFileOf(part), `${sha}  ${name}#${version}.tgz\n`)
        await rename(hashFileOf(part), hashFileOf(file))
        await rename(part, file)
        return { path: file, sha, checked }
      } catch (error) {
        throw unusable(error)
      } finally {
        // A failure to remove the files has the same cause as the failure before, which is reported.
        await Promise.all([part, hashFileOf(part)].map((file) => rm(file, { force: true }).catch(() => undefined)))
      }
    },
  }
}
