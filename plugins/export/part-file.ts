/**
 * One file of an export: written under another name, on disk, then renamed. It is made anew and through no link, whatever
 * somebody has put into the folder.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MaybePromise } from '../database/service.ts'

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_DIRECTORY } = constants
const MODE = 0o600
const CHUNK = 1024 * 1024 // bytes written at once
const NEWLINE = Buffer.from('\n')
const LF = 10
const CR = 13

export interface WrittenFile {
  readonly file: string
  readonly lines: number
  readonly bytes: number
  readonly sha256: string
}

export interface PartFile {
  readonly lines: number
  readonly bytes: number
  /** A JSON text as a line: line ends stand between tokens only, and are left out. */
  add(json: Buffer): MaybePromise<void>
  /** Resolves when file and folder are on disk. Without lines there is no file, and its name is empty. */
  finish(): Promise<WrittenFile>
  /** Removes an unfinished file. */
  discard(): Promise<void>
}

const withoutLineEnds = (json: Buffer): Buffer =>
  json.includes(LF) || json.includes(CR) ? (json.filter((byte) => byte !== LF && byte !== CR) as Buffer) : json

const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, O_RDONLY | O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** `name`: that of the finished file. */
export const createPartFile = (folder: string, name: string): PartFile => {
  const path = join(folder, name)
  const temporary = `${path}.tmp`
  const hash = createHash('sha256')
  let handle: FileHandle | undefined
  let kept: Buffer[] = []
  let keptBytes = 0
  let lines = 0
  let bytes = 0

  const flush = async (): Promise<void> => {
    const chunk = Buffer.concat(kept)
    kept = []
    keptBytes = 0
    handle ??= await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, MODE)
    hash.update(chunk)
    for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten
  }
  const close = async (): Promise<void> => {
    const open = handle
    handle = undefined
    await open?.close()
  }
  return {
    get lines() {
      return lines
    },
    get bytes() {
      return bytes
    },
    add(json) {
      const line = withoutLineEnds(json)
      kept.push(line, NEWLINE)
      keptBytes += line.length + 1
      bytes += line.length + 1
      lines += 1
      return keptBytes < CHUNK ? undefined : flush()
    },
    async finish() {
      if (lines === 0) return { file: '', lines, bytes, sha256: '' }
      if (keptBytes > 0) await flush()
      await handle?.sync()
      await close()
      await rename(temporary, path)
      await syncFolder(folder)
      return { file: name, lines, bytes, sha256: hash.digest('hex') }
    },
    async discard() {
      const wasOpen = handle !== undefined
      await close().catch(() => undefined)
      if (wasOpen) await rm(temporary, { force: true }).catch(() => undefined)
    },
  }
}
