/**
 * Inspects a SQLite file before it is opened for writing: a file of another application, a truncated or damaged one, or
 * one that cannot be written is refused and left unchanged.
 */
import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isServerError } from '../../../kernel/index.ts'
import {
  DatabaseDamaged,
  DatabaseFolderMissing,
  DatabaseForeign,
  DatabaseNotOpened,
  DatabaseReadOnly,
} from '../errors.ts'
import { committedPages } from './committed-pages.ts'
import { realPath } from './file-lock.ts'
import { openReadOnlyFile } from './open-read-only-file.ts'

/** Marks a file as ours in its header: PRAGMA application_id, "rfhr". */
export const APPLICATION_ID = 0x72666872
const MAGIC = 'SQLite format 3\0'
const HEADER_BYTES = 100
const CHECKED_BYTES = 64 * 1024 * 1024 // bytes; a larger file is not checked in full at each start

const LOCK_BYTE = 0x40000000 // the page at this offset is never written, neither to the file nor to the WAL

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code)

interface Header {
  readonly magic: string
  readonly pageSize: number
  readonly pages: number
  readonly applicationId: number
}

const readHeader = (path: string): Header => {
  const bytes = Buffer.alloc(HEADER_BYTES)
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    throw DatabaseNotOpened(path, (error as Error).message).with({ cause: error })
  }
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

/** Checks that files can be created in the folder: the database and its WAL. */
const checkFolder = (path: string): void => {
  const folder = dirname(resolve(path))
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw DatabaseFolderMissing(folder, path)
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw DatabaseReadOnly(path, `no file can be made in the folder ${folder} (${codeOf(error)})`)
  }
}

/** Throws when the file or its folder does not exist or may not be written. */
export const checkWritable = (path: string): void => {
  checkFolder(path)
  if (!existsSync(path)) return
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    throw DatabaseReadOnly(path, `its permissions forbid it (${codeOf(error)})`)
  }
  // A superuser may write any file: the permission bits show whether it is meant to be written.
  if ((statSync(path).mode & 0o222) === 0) throw DatabaseReadOnly(path, 'its permissions forbid it')
}

const checkPages = async (path: string, size: number): Promise<void> => {
  if (size > CHECKED_BYTES) return
  try {
    const look = await openReadOnlyFile(path)
    try {
      const [first] = look.rows<{ quick_check: string }>('PRAGMA quick_check(1)')
      const found = first?.quick_check ?? 'it cannot be read'
      // SQLite's report has several lines.
      if (found !== 'ok') throw DatabaseDamaged(path, found.replaceAll(/\s+/g, ' '))
    } finally {
      look.close()
    }
  } catch (error) {
    if (isServerError(error)) throw error
    throw DatabaseDamaged(path, (error as Error).message).with({ cause: error })
  }
}

/**
 * A file shorter than its header says is truncated, unless its WAL holds every missing page: a checkpoint writes page
 * 1, with the new number of pages, before the pages at the end, and may be interrupted in between. SQLite then recovers
 * the file from the WAL.
 */
const checkLength = (path: string, size: number, { pages, pageSize }: Header): void => {
  if (size >= pages * pageSize) return
  const logged = committedPages(`${realPath(path)}-wal`, pageSize)
  const lockPage = LOCK_BYTE / pageSize + 1
  for (let page = Math.floor(size / pageSize) + 1; page <= pages; page += 1)
    if (!logged.has(page) && page !== lockPage)
      throw DatabaseDamaged(path, `it holds ${size} of ${pages * pageSize} bytes`)
}

/** Returns 'new' when there is no file or an empty one, 'ours' when it is valid; throws otherwise. */
export const inspectFile = async (path: string): Promise<'new' | 'ours'> => {
  if (!existsSync(path)) return 'new'
  const stat = statSync(path)
  if (!stat.isFile()) throw DatabaseForeign(path, 'not a file')
  const { size } = stat
  if (size === 0) return 'new'
  const header = readHeader(path)
  if (header.magic !== MAGIC) throw DatabaseForeign(path, 'not a SQLite file')
  if (header.applicationId !== APPLICATION_ID) throw DatabaseForeign(path, 'made by another application')
  checkLength(path, size, header)
  await checkPages(path, size)
  return 'ours'
}
