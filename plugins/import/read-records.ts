/**
 * Reads the records of a file as a stream: lines of NDJSON, whole JSON files, and both from archives. It gives lists of them,
 * because each step of an asynchronous iteration takes as long as reading a line.
 */
import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { isServerError, type ServerError } from '../../kernel/index.ts'
import { EntryKind, NotText, TooBlank, TooLong, Unreadable } from './errors.ts'
import { canImport, type ImportSource } from './find-sources.ts'
import { printable } from './printable.ts'

export const MAX_RECORD_BYTES = 256 * 1024 * 1024
const MAX_BLANK_BYTES = 1024 * 1024 // between two records
const MAX_LINE_BYTES = 32 * 1024 * 1024 // of a file that a server reads beside its requests

/** A resource or a Bundle as text. */
export interface ImportRecord {
  /** Its position in the source, from 0, across all files of an archive. */
  readonly number: number
  /** The file, in an archive behind the archive's name: `export.tar.gz/Patient.ndjson`. */
  readonly file: string
  /** From 1; undefined where the record is a whole file. */
  readonly line: number | undefined
  readonly json: string
  /** Why it cannot be read as text. */
  readonly fault?: ServerError
}

type Bytes = AsyncIterable<Buffer>
type Text = Omit<ImportRecord, 'number' | 'file'>

const NEWLINE = 10
/** Types of entries that are files; POSIX has contiguous ones read like others. */
const FILES: ReadonlySet<unknown> = new Set(['file', 'contiguous-file'])
const toText = (bytes: Buffer, line: number | undefined): Text =>
  isUtf8(bytes) ? { line, json: bytes.toString('utf8') } : { line, json: '', fault: NotText() }

const isSpace = (code: number | undefined): boolean => code === 32 || (code !== undefined && code >= 9 && code <= 13)
/** White space beyond ASCII is rare enough to be looked for in the text. */
const isBlank = (bytes: Buffer): boolean => {
  let at = 0
  while (at < bytes.length && isSpace(bytes[at])) at += 1
  return at === bytes.length || (bytes[at]! >= 0x80 && isUtf8(bytes) && bytes.toString('utf8').trim() === '')
}

async function* linesOf(bytes: Bytes, maxBytes = MAX_RECORD_BYTES): AsyncGenerator<readonly Text[]> {
  let [parts, size, line, blank]: [Buffer[], number, number, number] = [[], 0, 0, 0]
  let texts: Text[] = []
  const take = (last: Buffer): void => {
    const bytes = parts.length === 0 ? last : Buffer.concat([...parts, last])
    parts = []
    size = 0
    line += 1
    if (isBlank(bytes)) {
      blank += bytes.length + 1
      if (blank > MAX_BLANK_BYTES) throw TooBlank(MAX_BLANK_BYTES)
      return
    }
    blank = 0
    texts.push(toText(bytes, line))
  }
  const takeAll = (chunk: Buffer): void => {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, at))
      from = at + 1
    }
    size += chunk.length - from
    if (size > maxBytes) throw TooLong(maxBytes)
    parts.push(chunk.subarray(from))
  }
  try {
    for await (const chunk of bytes) {
      takeAll(chunk)
      if (texts.length === 0) continue
      yield texts
      texts = []
    }
    take(Buffer.alloc(0))
  } catch (error) {
    // What was read before the file could not be read further.
    if (texts.length > 0) yield texts
    throw error
  }
  if (texts.length > 0) yield texts
}

async function* wholeOf(bytes: Bytes): AsyncGenerator<readonly Text[]> {
  const parts: Buffer[] = []
  let size = 0
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > MAX_RECORD_BYTES) throw TooLong(MAX_RECORD_BYTES)
    parts.push(chunk)
  }
  yield [toText(Buffer.concat(parts), undefined)]
}

/** A failure of the bytes, or of unzipping them, is thrown to the reader. */
const unzipped = (bytes: Bytes): Bytes => {
  const gunzip = createGunzip()
  pipeline(Readable.from(bytes), gunzip).catch((error) => gunzip.destroy(error))
  return gunzip
}

type TextOfFile = Omit<ImportRecord, 'number'>

/** `name` decides how the bytes are read. */
async function* textsOf(name: string, bytes: Bytes): AsyncGenerator<readonly TextOfFile[]> {
  const lower = name.toLowerCase()
  const isPacked = lower.endsWith('.gz') || lower.endsWith('.tgz')
  const plain = isPacked ? unzipped(bytes) : bytes
  const kind = lower.replace(/\.gz$/, '').replace(/\.tgz$/, '.tar')
  if (kind.endsWith('.tar')) {
    yield* filesOf(name, plain)
    return
  }
  const lists = kind.endsWith('.json') ? wholeOf(plain) : linesOf(plain)
  for await (const texts of lists) yield texts.map((text) => ({ ...text, file: name }))
}

async function* filesOf(archive: string, bytes: Bytes): AsyncGenerator<readonly TextOfFile[]> {
  const entries = extract()
  pipeline(Readable.from(bytes), entries).catch((error) => entries.destroy(error))
  try {
    for await (const entry of entries) {
      const { name, type } = entry.header
      if (canImport(name) && FILES.has(type)) {
        for await (const texts of textsOf(name, entry as Bytes))
          yield texts.map((text) => ({ ...text, file: `${archive}/${printable(text.file)}` }))
        continue
      }
      entry.resume()
      if (canImport(name) && type !== 'directory') {
        const fault = EntryKind(String(type).slice(0, 40))
        yield [{ line: undefined, json: '', file: `${archive}/${printable(name)}`, fault }]
      }
    }
  } finally {
    entries.destroy()
  }
}

/** Calls `read` with the number of bytes for each piece of the file that was read. Throws `Unreadable` and `TooLong`. */
export async function* readRecords(
  { name, form }: Pick<ImportSource, 'name' | 'form'>,
  bytes: AsyncIterable<Buffer>,
  read: (bytes: number) => void,
): AsyncGenerator<readonly ImportRecord[]> {
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of bytes) {
      read(chunk.length)
      yield chunk
    }
  }
  const lists = async function* (): AsyncGenerator<readonly TextOfFile[]> {
    if (form === undefined) yield* textsOf(name, counted())
    else
      for await (const texts of linesOf(counted(), MAX_LINE_BYTES)) yield texts.map((text) => ({ ...text, file: name }))
  }
  let number = 0
  try {
    for await (const texts of lists()) {
      const first = number
      number += texts.length
      yield texts.map((text, at) => ({ ...text, number: first + at }))
    }
  } catch (error) {
    throw isServerError(error) ? error : Unreadable(name, (error as Error).message).with({ cause: error })
  }
}
