/** Reads the records of a file as a stream: lines of NDJSON, whole JSON files, and both from archives. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { isServerError } from '../../kernel/index.ts'
import { TooLong, Unreadable } from './errors.ts'
import { canImport, type ImportSource } from './find-sources.ts'

export const MAX_RECORD_BYTES = 256 * 1024 * 1024
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
}

type Bytes = AsyncIterable<Buffer>
type Text = Omit<ImportRecord, 'number' | 'file'>

const NEWLINE = 10
const isBlank = (text: string): boolean => text.trim() === ''

async function* linesOf(bytes: Bytes, mostBytes = MAX_RECORD_BYTES): AsyncGenerator<Text> {
  let [parts, size, line]: [Buffer[], number, number] = [[], 0, 0]
  const take = (last: Buffer): string => {
    const text = Buffer.concat([...parts, last]).toString('utf8')
    parts = []
    size = 0
    line += 1
    return text
  }
  for await (const chunk of bytes) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      const json = take(chunk.subarray(from, at))
      from = at + 1
      if (!isBlank(json)) yield { line, json }
    }
    size += chunk.length - from
    if (size > mostBytes) throw TooLong(mostBytes)
    parts.push(chunk.subarray(from))
  }
  const json = take(Buffer.alloc(0))
  if (!isBlank(json)) yield { line, json }
}

async function* wholeOf(bytes: Bytes): AsyncGenerator<Text> {
  const parts: Buffer[] = []
  let size = 0
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > MAX_RECORD_BYTES) throw TooLong(MAX_RECORD_BYTES)
    parts.push(chunk)
  }
  yield { line: undefined, json: Buffer.concat(parts).toString('utf8') }
}

/** A failure of the bytes, or of unzipping them, is thrown to the reader. */
const unzipped = (bytes: Bytes): Bytes => {
  const gunzip = createGunzip()
  pipeline(Readable.from(bytes), gunzip).catch((error) => gunzip.destroy(error))
  return gunzip
}

/** `name` decides how the bytes are read. */
async function* textsOf(name: string, bytes: Bytes): AsyncGenerator<Omit<ImportRecord, 'number'>> {
  const lower = name.toLowerCase()
  const isPacked = lower.endsWith('.gz') || lower.endsWith('.tgz')
  const plain = isPacked ? unzipped(bytes) : bytes
  const kind = lower.replace(/\.gz$/, '').replace(/\.tgz$/, '.tar')
  if (kind.endsWith('.tar')) {
    yield* filesOf(name, plain)
    return
  }
  const texts = kind.endsWith('.json') ? wholeOf(plain) : linesOf(plain)
  for await (const text of texts) yield { ...text, file: name }
}

async function* filesOf(archive: string, bytes: Bytes): AsyncGenerator<Omit<ImportRecord, 'number'>> {
  const entries = extract()
  pipeline(Readable.from(bytes), entries).catch((error) => entries.destroy(error))
  try {
    for await (const entry of entries) {
      const { name, type } = entry.header
      if (type !== 'file' || !canImport(name)) entry.resume()
      else for await (const text of textsOf(name, entry as Bytes)) yield { ...text, file: `${archive}/${text.file}` }
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
): AsyncGenerator<ImportRecord> {
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of bytes) {
      read(chunk.length)
      yield chunk
    }
  }
  const texts = async function* (): AsyncGenerator<Omit<ImportRecord, 'number'>> {
    if (form === undefined) yield* textsOf(name, counted())
    else for await (const text of linesOf(counted(), MAX_LINE_BYTES)) yield { ...text, file: name }
  }
  let number = 0
  try {
    for await (const text of texts()) {
      yield { ...text, number }
      number += 1
    }
  } catch (error) {
    throw isServerError(error) ? error : Unreadable(name, (error as Error).message).with({ cause: error })
  }
}
