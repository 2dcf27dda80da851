/**
 * Reads a package's .tgz as a stream, in memory. Nothing is extracted, so no entry can write to disk. An archive with
 * an entry that would be dangerous to extract is refused all the same, and the error names the entry.
 */
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract, type Header } from 'tar-stream'
import { isServerError } from '../../kernel/index.ts'
import { leadingType, mayDefine } from './definition-types.ts'
import { ArchiveRefused, EntryRefused } from './errors.ts'

/** A .json file that lies directly in the package folder. */
export interface PackageFile {
  readonly name: string
  readonly bytes: Buffer
}

export interface ArchiveLimits {
  readonly entries: number
  /** Bytes of one file. */
  readonly fileBytes: number
  /** Bytes of the whole archive, unpacked. */
  readonly totalBytes: number
  /** How many times larger than its .tgz an archive may be, once it is larger than `ratioFrom` bytes. */
  readonly ratio: number
  readonly ratioFrom: number
}

const MIB = 1024 * 1024
export const ARCHIVE_LIMITS: ArchiveLimits = Object.freeze({
  entries: 200_000, // the largest published packages hold some ten thousand
  fileBytes: 256 * MIB,
  totalBytes: 2048 * MIB,
  ratio: 200, // definitions compress 5 to 20 times; gzip can reach 1,030
  ratioFrom: 64 * MIB,
})

const ROOT = 'package/'
const KINDS: Readonly<Record<string, string>> = {
  link: 'is a hard link',
  symlink: 'is a symbolic link',
  'character-device': 'is a device',
  'block-device': 'is a device',
  fifo: 'is a named pipe',
}
const SET_ID = 0o6000 // setuid and setgid

type Entry = Header & { readonly pax?: Readonly<Record<string, string>> | null }

/** An entry's name quoted and shortened, on one line. */
const quoted = (name: string): string => JSON.stringify(name.length > 120 ? `${name.slice(0, 120)}…` : name)

/**
 * What is wrong with a name, or undefined. Both kinds of slash separate segments: which one counts depends on the
 * program that would extract it.
 */
const nameFault = (name: string): string | undefined => {
  if (name === '') return 'has no name'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(name)) return 'has control characters in its name'
  if (/^[\\/]/.test(name)) return 'has an absolute path'
  if (/^[A-Za-z]:/.test(name)) return 'has a path on a drive'
  if (name.split(/[\\/]/).includes('..')) return 'points outside the package'
  return undefined
}

const entryFault = (entry: Entry, { fileBytes }: ArchiveLimits): string | undefined => {
  const { name, type, mode = 0, size = 0, pax } = entry
  const fault = nameFault(name)
  if (fault !== undefined) return fault
  const isFolder = type === 'directory' || (type === 'file' && name.endsWith('/'))
  if (!isFolder && type !== 'file' && type !== 'contiguous-file')
    return KINDS[type ?? ''] ?? 'is of a kind that no package needs (sparse or unknown)'
  if (Object.keys(pax ?? {}).some((key) => key.startsWith('GNU.sparse.'))) return 'is a sparse file'
  if (!isFolder && (mode & SET_ID) !== 0) return 'is setuid or setgid'
  if (size > fileBytes) return `is larger than ${fileBytes} bytes`
  return undefined
}

/** Maps all names that some file system treats as equal to one spelling. */
const folded = (path: string): string => path.normalize('NFKC').toUpperCase().toLowerCase()

/** Finds names that some file system treats as equal. */
const createTwins = () => {
  const seen = new Map<string, string>()
  /** Returns an earlier equal name, if there is one. A directory may occur repeatedly. */
  return (path: string): string | undefined => {
    const key = folded(path.replace(/\/$/, ''))
    const other = seen.get(key)
    if (other === undefined) seen.set(key, path)
    return other === undefined || (other === path && path.endsWith('/')) ? undefined : other
  }
}

/** Passes unpacked bytes on, and limits their number in relation to the packed bytes. */
const createMeter = (subject: string, packed: () => number, { totalBytes, ratio, ratioFrom }: ArchiveLimits) =>
  async function* (parts: AsyncIterable<Uint8Array>) {
    let total = 0
    for await (const part of parts) {
      total += part.byteLength
      if (total > totalBytes) throw ArchiveRefused(subject, `it is larger than ${totalBytes} bytes unpacked`)
      if (total > ratioFrom && total > ratio * packed())
        throw ArchiveRefused(subject, `it unpacks to more than ${ratio} times its size`)
      yield part
    }
  }

/** Counts packed bytes and checks the first one, so that the error for a file that is not gzip says what it is. */
const createPackedCounter = (subject: string) => {
  let count = 0
  return {
    count: () => count,
    async *pass(parts: AsyncIterable<Uint8Array>) {
      for await (const part of parts) {
        if (count === 0 && part.byteLength > 0 && part[0] !== 0x1f)
          throw ArchiveRefused(subject, part[0] === 0x3c ? 'it is a web page (HTML), no .tgz' : 'it is no .tgz')
        count += part.byteLength
        yield part
      }
      if (count === 0) throw ArchiveRefused(subject, 'it is empty')
    },
  }
}

/** The bytes of an entry, or undefined as soon as the first ones show that it is not a definition. */
const readEntry = async (parts: AsyncIterable<Uint8Array>): Promise<Buffer | undefined> => {
  const kept: Uint8Array[] = []
  let wanted = true
  for await (const part of parts) {
    if (!wanted) continue
    kept.push(part)
    if (kept.length > 1) continue
    const type = leadingType(Buffer.from(part.buffer, part.byteOffset, part.byteLength))
    if (type !== undefined && !mayDefine(type)) wanted = false
  }
  return wanted ? Buffer.concat(kept) : undefined
}

/**
 * Yields the .json files in the package folder that may be definitions, and package.json, in the order of the archive.
 * All other entries are checked and skipped. `subject` names the package in messages. Throws at the first bad entry:
 * discard what was yielded before.
 */
export async function* readArchive(
  tgz: AsyncIterable<Uint8Array>,
  subject: string,
  limits: ArchiveLimits = ARCHIVE_LIMITS,
): AsyncGenerator<PackageFile, void, undefined> {
  const packed = createPackedCounter(subject)
  const entries = extract()
  const feeding = pipeline(tgz, packed.pass, createGunzip(), createMeter(subject, packed.count, limits), entries)
  feeding.catch(() => undefined)
  const twinOf = createTwins()
  let count = 0
  try {
    for await (const stream of entries) {
      const entry = stream.header as Entry
      count += 1
      if (count > limits.entries) throw ArchiveRefused(subject, `it has more than ${limits.entries} entries`)
      const fault = entryFault(entry, limits)
      if (fault !== undefined) throw EntryRefused(subject, quoted(entry.name), fault)
      const path = entry.name.replaceAll('\\', '/').replace(/(^|\/)(\.?\/)+/g, '$1')
      const twin = twinOf(path)
      if (twin !== undefined) throw EntryRefused(subject, quoted(entry.name), `is a twin of ${quoted(twin)}`)
      const name = path.startsWith(ROOT) ? path.slice(ROOT.length) : ''
      if (!name.endsWith('.json') || name.includes('/')) {
        stream.resume()
        continue
      }
      const bytes = await readEntry(stream as AsyncIterable<Uint8Array>)
      if (bytes !== undefined) yield { name, bytes }
    }
    await feeding
  } catch (error) {
    // The unpacking stream may fail as a consequence of an error of the feeding pipeline, which is then the one to
    // report.
    const cause = await feeding.then(
      () => error,
      (first) => (isServerError(error) || first?.code === 'ERR_STREAM_PREMATURE_CLOSE' ? error : first),
    )
    throw isServerError(cause) ? cause : ArchiveRefused(subject, brokenWords(cause)).with({ cause })
  } finally {
    entries.destroy()
    await feeding.catch(() => undefined)
  }
}

const brokenWords = (error: unknown): string => {
  const { code, message } = error as Error & { code?: string }
  if (code === 'Z_BUF_ERROR' || message === 'Unexpected end of data') return 'it is cut short'
  if (code?.startsWith('Z_')) return `it is damaged (${message})`
  return `it cannot be read as a .tgz (${message.split('\n', 1)[0]})`
}
