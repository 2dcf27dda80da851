/**
 * Looks at a SQLite file before it is opened for writing: one of another application, a truncated or damaged one, or
 * one that cannot be written is refused and left unchanged.
 */
import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isServerError } from '../../../kernel/index.ts'
import { DatabaseDamaged, DatabaseForeign, DatabaseReadOnly } from '../errors.ts'
import { lookInto } from './look.ts'

/** Marks a file as ours in its header: PRAGMA application_id, "rfhr". */
export const APPLICATION_ID = 0x72666872
const MAGIC = 'SQLite format 3\0'
const HEADER_BYTES = 100
const CHECKED_BYTES = 64 * 1024 * 1024 // a larger file is not read through at each start

interface Header {
  readonly magic: string
  readonly pageSize: number
  readonly pages: number
  readonly applicationId: number
}

const readHeader = (path: string): Header => {
  const bytes = Buffer.alloc(HEADER_BYTES)
  const file = openSync(path, 'r')
  try {
    readSync(file, bytes, 0, HEADER_BYTES, 0)
  } finally {
    closeSync(file)
  }
  // https://sqlite.org/fileformat.html#the_database_header
  const size = bytes.readUInt16BE(16)
  return {
    magic: bytes.toString('latin1', 0, 16),
    pageSize: size === 1 ? 65_536 : size,
    pages: bytes.readUInt32BE(28),
    applicationId: bytes.readUInt32BE(68),
  }
}

/** Throws when the file or its folder is not meant to be written. */
export const checkWritable = (path: string): void => {
  try {
    accessSync(path, constants.W_OK)
    accessSync(dirname(resolve(path)), constants.W_OK)
  } catch {
    throw DatabaseReadOnly(path, 'its permissions forbid it')
  }
  // A superuser may write what nobody is meant to: the bits say what was meant.
  if ((statSync(path).mode & 0o222) === 0) throw DatabaseReadOnly(path, 'its permissions forbid it')
}

const checkPages = async (path: string, size: number): Promise<void> => {
  if (size > CHECKED_BYTES) return
  try {
    const look = await lookInto(path)
    try {
      const [first] = look.rows<{ quick_check: string }>('PRAGMA quick_check(1)')
      if (first?.quick_check !== 'ok') throw DatabaseDamaged(path, first?.quick_check ?? 'it cannot be read')
    } finally {
      look.close()
    }
  } catch (error) {
    if (isServerError(error)) throw error
    throw DatabaseDamaged(path, (error as Error).message).with({ cause: error })
  }
}

/** 'new' when there is no file (or an empty one), 'ours' when it is sound; throws otherwise. */
export const inspectFile = async (path: string): Promise<'new' | 'ours'> => {
  if (!existsSync(path)) return 'new'
  const stat = statSync(path)
  if (!stat.isFile()) throw DatabaseForeign(path, 'not a file')
  const { size } = stat
  if (size === 0) return 'new'
  const header = readHeader(path)
  if (header.magic !== MAGIC) throw DatabaseForeign(path, 'not a SQLite file')
  if (header.applicationId !== APPLICATION_ID) throw DatabaseForeign(path, 'made by another application')
  // With a log beside it, the header may be older than the last commit and count fewer pages; never more.
  if (size < header.pages * header.pageSize)
    throw DatabaseDamaged(path, `it holds ${size} of ${header.pages * header.pageSize} bytes`)
  await checkPages(path, size)
  return 'ours'
}
