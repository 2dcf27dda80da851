/**
 * The file of `--errors`: an OperationOutcome in each line, behind what it has already. A refusal is written before the database
 * notes it, so an interrupted import may have written some that the next run is given again: those are not added twice.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { canImport } from './find-sources.ts'
import { toErrorLine } from './refused-record.ts'
import type { RefusedRecord } from './service.ts'

// Each transaction at once (`--parallel`, at most 64) writes one line before it is noted. The last lines are looked at.
const LAST_LINES = 128
const LAST_BYTES = 1024 * 1024
const LF = 10
const BEGIN = Buffer.from('{"resourceType":"OperationOutcome"')

export interface ErrorsFile {
  /** Returns when the line is written. Throws where it cannot be: the record must not be noted as refused then. */
  add(record: RefusedRecord): void
  end(): void
}

/** Whether the file lies in what is imported, and would be imported itself. */
export const isAmong = (file: string, paths: readonly string[]): boolean => {
  if (!canImport(file) || !existsSync(dirname(file))) return false
  const real = join(realpathSync(dirname(file)), basename(file))
  return paths.map((one) => realpathSync(one)).some((one) => real === one || real.startsWith(`${one}${sep}`))
}

const readEnd = (path: string): Buffer => {
  // A pipe has nothing that could be read again, and opening one may wait.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return Buffer.alloc(0)
  const handle = openSync(path, 'r')
  try {
    const { size } = fstatSync(handle)
    const end = Buffer.alloc(Math.min(size, LAST_BYTES))
    return end.subarray(0, readSync(handle, end, 0, end.length, size - end.length))
  } finally {
    closeSync(handle)
  }
}

/** Whether the text behind the last line end is the beginning of a line of ours. */
const isTorn = (tail: Buffer): boolean => {
  const length = Math.min(tail.length, BEGIN.length)
  return length > 0 && tail.subarray(0, length).equals(BEGIN.subarray(0, length))
}

/** Throws where the file cannot be opened. */
export const openErrorsFile = (path: string): ErrorsFile => {
  const end = readEnd(path)
  const handle = openSync(path, 'a', 0o600)
  const write = (text: string): void => {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at)
  }
  const tail = end.subarray(end.lastIndexOf(LF) + 1)
  // A line that was cut off was not noted, so its record comes again. What somebody else has written there stays.
  if (isTorn(tail)) ftruncateSync(handle, fstatSync(handle).size - tail.length)
  else if (tail.length > 0) write('\n')
  const before = new Set(end.toString('utf8').split('\n').slice(-LAST_LINES))
  return {
    add(record) {
      const line = JSON.stringify(toErrorLine(record))
      if (!record.isResumed || !before.delete(line)) write(`${line}\n`)
    },
    end: () => closeSync(handle),
  }
}
