/**
 * The file of `--errors`: an OperationOutcome in each line, behind what it has already. A refusal is written before the database
 * notes it, so an interrupted import may have written some that the next run is given again: those are not added twice.
 */
import { closeSync, createWriteStream, fstatSync, openSync, readSync } from 'node:fs'
import { toErrorLine } from './refused-record.ts'
import type { RefusedRecord } from './service.ts'

// Each transaction at once (`--parallel`, at most 64) writes one line before it is noted. The last lines are looked at.
const LAST_LINES = 128
const LAST_BYTES = 1024 * 1024
const LF = 10

export interface ErrorsFile {
  add(record: RefusedRecord): void
  /** Resolves when all is written. */
  end(): Promise<void>
}

/** Undefined where there is no file, or nothing in it. */
const readEnd = (path: string): Buffer | undefined => {
  let handle: number
  try {
    handle = openSync(path, 'r')
  } catch {
    return undefined // whoever opens it to write says why it cannot be opened
  }
  try {
    const stat = fstatSync(handle)
    const size = stat.isFile() ? stat.size : 0 // a pipe has nothing that could be read again
    const end = Buffer.alloc(Math.min(size, LAST_BYTES))
    const read = readSync(handle, end, 0, end.length, size - end.length)
    return read === 0 ? undefined : end.subarray(0, read)
  } finally {
    closeSync(handle)
  }
}

export const openErrorsFile = (path: string): ErrorsFile => {
  const end = readEnd(path)
  const before = new Set(end?.toString('utf8').split('\n').slice(-LAST_LINES))
  const stream = createWriteStream(path, { flags: 'a', mode: 0o600 })
  // A line that was cut off stays alone.
  if (end !== undefined && end.at(-1) !== LF) stream.write('\n')
  return {
    add(record) {
      const line = JSON.stringify(toErrorLine(record))
      if (!record.isResumed || !before.delete(line)) stream.write(`${line}\n`)
    },
    end: () => new Promise((resolve) => stream.end(resolve)),
  }
}
