/**
 * Finds the pages of a SQLite file that its WAL holds. Only frames with the current salt of the WAL, up to its last
 * commit, count: SQLite recovers these when the file is opened next.
 * https://sqlite.org/fileformat.html#the_write_ahead_log
 */
import { closeSync, openSync, readSync } from 'node:fs'

const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const MAGICS = [0x377f0682, 0x377f0683] // checksums in little- or big-endian words
const VERSION = 3_007_000

/** Returns the numbers of the pages; none for a log that is missing, empty or of another page size. */
export const committedPages = (logPath: string, pageSize: number): ReadonlySet<number> => {
  const pages = new Set<number>()
  let file: number
  try {
    file = openSync(logPath, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return pages
    throw error
  }
  try {
    const header = Buffer.alloc(LOG_HEADER_BYTES)
    if (readSync(file, header, 0, LOG_HEADER_BYTES, 0) < LOG_HEADER_BYTES) return pages
    if (!MAGICS.includes(header.readUInt32BE(0)) || header.readUInt32BE(4) !== VERSION) return pages
    if (header.readUInt32BE(8) !== pageSize) return pages
    const salt = header.subarray(16, 24)
    const frame = Buffer.alloc(FRAME_HEADER_BYTES)
    let uncommitted: number[] = []
    for (let at = LOG_HEADER_BYTES; ; at += FRAME_HEADER_BYTES + pageSize) {
      if (readSync(file, frame, 0, FRAME_HEADER_BYTES, at) < FRAME_HEADER_BYTES) return pages
      if (!frame.subarray(8, 16).equals(salt)) return pages
      uncommitted.push(frame.readUInt32BE(0))
      const isCommit = frame.readUInt32BE(4) !== 0
      if (!isCommit) continue
      for (const page of uncommitted) pages.add(page)
      uncommitted = []
    }
  } finally {
    closeSync(file)
  }
}
