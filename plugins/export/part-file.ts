/**
 * One file of an export: it is written under a temporary name, synced, then renamed. It is always created, never opened
 * through a link, as others may be able to write to the folder. It runs in a thread of its own, so it is synchronous.
 */
import { createHash } from 'node:crypto'
import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { decompressBody } from '../storage/thread-service.ts'
import type { Added, AddLines, WrittenFile } from './line-messages.ts'

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_DIRECTORY } = constants
const MODE = 0o600
const CHUNK = 1024 * 1024 // bytes written at once
const NEWLINE = Buffer.from('\n')
const LF = 10
const CR = 13

export interface PartFile {
  /** Adds bodies as lines, in order, until the file is full. Line ends stand between tokens only, and are left out. */
  add(lines: AddLines): Added
  /** Returns when file and folder are on disk. Without lines there is no file, and its name is empty. */
  finish(): WrittenFile
  /** Removes an unfinished file. */
  discard(): void
}

const withoutLineEnds = (json: Buffer): Buffer =>
  json.includes(LF) || json.includes(CR) ? (json.filter((byte) => byte !== LF && byte !== CR) as Buffer) : json

const syncFolder = (folder: string): void => {
  const handle = openSync(folder, O_RDONLY | O_DIRECTORY)
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** `name`: that of the finished file. */
export const createPartFile = (folder: string, name: string): PartFile => {
  const path = join(folder, name)
  const temporary = `${path}.tmp`
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafeSlow(CHUNK) // used again for each write: as garbage they would be most of the memory
  let handle: number | undefined
  let kept = 0 // bytes in `chunk`
  let lines = 0
  let bytes = 0

  const write = (part: Buffer): void => {
    handle ??= openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, MODE)
    hash.update(part)
    for (let at = 0; at < part.length; ) at += writeSync(handle, part, at)
  }
  const flush = (): void => {
    if (kept > 0) write(chunk.subarray(0, kept))
    kept = 0
  }
  const keep = (part: Buffer): void => {
    if (kept + part.length > CHUNK) flush()
    if (part.length > CHUNK) write(part)
    else kept += part.copy(chunk, kept)
  }
  const close = (): void => {
    const open = handle
    handle = undefined
    if (open !== undefined) closeSync(open)
  }
  return {
    add({ bodies, lengths, encodings, mostLines, mostBytes }) {
      const all = Buffer.from(bodies.buffer, bodies.byteOffset, bodies.byteLength)
      let taken = 0
      let at = 0
      for (const [number, length] of lengths.entries()) {
        if (lines >= mostLines || bytes >= mostBytes) break
        const line = withoutLineEnds(decompressBody(all.subarray(at, at + length), encodings[number] as number))
        at += length
        keep(line)
        keep(NEWLINE)
        bytes += line.length + 1
        lines += 1
        taken += 1
      }
      return { taken, lines, bytes }
    },
    finish() {
      if (lines === 0) return { file: '', lines, bytes, sha256: '' }
      flush()
      if (handle !== undefined) fsyncSync(handle)
      close()
      renameSync(temporary, path)
      syncFolder(folder)
      return { file: name, lines, bytes, sha256: hash.digest('hex') }
    },
    discard() {
      const wasOpen = handle !== undefined
      try {
        close()
      } finally {
        if (wasOpen) rmSync(temporary, { force: true })
      }
    },
  }
}
