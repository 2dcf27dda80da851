/** The folders of exports: one for each job below `[export] dir`. */
import { constants, createReadStream } from 'node:fs'
import { lstat, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { isJobId } from '../jobs/service.ts'
import { ExportFiles } from './errors.ts'

const ORPHAN_MS = 3_600_000 // age from which a folder without a job is removed
const { O_RDONLY, O_NOFOLLOW } = constants

export interface ExportFolder {
  /** Makes `[export] dir` where it is missing. */
  prepare(): Promise<void>
  /** Makes the folder of a job; one that is there already has to be a folder, and no link to one. */
  make(job: string): Promise<string>
  /** True when the file is there with this size. */
  has(job: string, file: string, bytes: number): Promise<boolean>
  /** Opens a finished file. Throws `ExportFiles` where it is gone, or is not what was written. */
  read(job: string, file: string, bytes: number): Promise<Readable>
  remove(job: string): Promise<void>
  /** Removes folders that belong to no job, unless they were made within the hour. */
  sweep(isKnown: (job: string) => Promise<boolean>, now: number): Promise<void>
}

/** The cause goes to the log. */
const orRefuse = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    throw ExportFiles().with({ cause: error, detail: (error as Error).message })
  }
}

export const createExportFolder = (dir: string): ExportFolder => {
  const folderOf = (job: string): string => join(dir, job)
  return {
    async prepare() {
      await mkdir(dir, { recursive: true, mode: 0o700 })
    },
    make: (job) =>
      orRefuse(async () => {
        const folder = folderOf(job)
        await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
        })
        if (!(await lstat(folder)).isDirectory()) throw new Error(`${folder} is no folder`)
        return folder
      }),
    async has(job, file, bytes) {
      const found = await lstat(join(folderOf(job), file)).catch(() => undefined)
      return found?.isFile() === true && found.size === bytes
    },
    read: (job, file, bytes) =>
      orRefuse(async () => {
        const handle = await open(join(folderOf(job), file), O_RDONLY | O_NOFOLLOW)
        const { size } = await handle.stat()
        if (size !== bytes) {
          await handle.close()
          throw new Error(`${file} has ${size} bytes, ${bytes} were written`)
        }
        return createReadStream('', { fd: handle, highWaterMark: 256 * 1024 })
      }),
    remove: (job) => rm(folderOf(job), { recursive: true, force: true }),
    async sweep(isKnown, now) {
      for (const name of await readdir(dir).catch(() => [])) {
        if (!isJobId(name)) continue
        const { mtimeMs } = await lstat(folderOf(name)).catch(() => ({ mtimeMs: now }))
        if (now - mtimeMs < ORPHAN_MS || (await isKnown(name))) continue
        await rm(folderOf(name), { recursive: true, force: true })
      }
    },
  }
}
