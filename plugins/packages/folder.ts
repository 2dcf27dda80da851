/** Reads a package from a directory: the directory itself, or a folder `package` in it, as in a package cache. */

import { createHash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isServerError } from '../../kernel/index.ts'
import { ARCHIVE_LIMITS, type PackageFile } from './archive.ts'
import { leadingType, mayDefine } from './definition-types.ts'
import { EntryRefused, LocalUnreadable, ManifestMissing } from './errors.ts'
import { describeFailure } from './http.ts'

const AT_ONCE = 16 // files read at the same time
const LOOK_BYTES = 512
const LARGE_BYTES = 256 * 1024 // bytes; of a larger file the beginning is checked before it is read

/** The folder that holds package.json. */
const findRoot = (path: string): string => {
  for (const root of [path, join(path, 'package')])
    if (statSync(join(root, 'package.json'), { throwIfNoEntry: false })?.isFile()) return root
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw ManifestMissing(path)
  throw LocalUnreadable(path, 'there is no such directory')
}

const guard = <T>(path: string, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    if (isServerError(error) || (error as NodeJS.ErrnoException).code === undefined) throw error
    throw LocalUnreadable(path, describeFailure(error)).with({ cause: error })
  }
}

const candidates = (root: string): string[] => readdirSync(root).filter((name) => name.endsWith('.json'))

/**
 * A hash that changes when a file of the package is added, removed or written: over the names, sizes and times of all
 * files.
 */
export const folderTag = (path: string): string =>
  guard(path, () => {
    const root = findRoot(path)
    const hash = createHash('sha256')
    for (const name of candidates(root)) {
      const { size, mtimeMs } = statSync(join(root, name))
      hash.update(`${name}\0${size}\0${mtimeMs}\n`)
    }
    return hash.digest('hex')
  })

/** The bytes of a file, or undefined when its first bytes show that it is not a definition. */
const readCandidate = async (root: string, name: string, path: string): Promise<PackageFile | undefined> => {
  const file = join(root, name)
  const { size } = statSync(file)
  if (size > ARCHIVE_LIMITS.fileBytes)
    throw EntryRefused(path, JSON.stringify(name), `is larger than ${ARCHIVE_LIMITS.fileBytes} bytes`)
  if (size > LARGE_BYTES) {
    const handle = await open(file)
    try {
      const { buffer } = await handle.read(Buffer.alloc(LOOK_BYTES), 0, LOOK_BYTES, 0)
      const type = leadingType(buffer)
      if (type !== undefined && !mayDefine(type)) return undefined
    } finally {
      await handle.close()
    }
  }
  const bytes = await readFile(file)
  const type = leadingType(bytes)
  return type !== undefined && !mayDefine(type) ? undefined : { name, bytes }
}

/** Yields the .json files of the directory that may be definitions, and package.json, in the order of their names. */
export async function* readFolder(path: string): AsyncGenerator<PackageFile, void, undefined> {
  const root = guard(path, () => findRoot(path))
  const names = guard(path, () => candidates(root).toSorted())
  const reading: Promise<PackageFile | undefined>[] = []
  try {
    for (const name of names) {
      const one = readCandidate(root, name, path)
      one.catch(() => undefined)
      reading.push(one)
      if (reading.length < AT_ONCE) continue
      const file = await reading.shift()
      if (file !== undefined) yield file
    }
    for (const one of reading) {
      const file = await one
      if (file !== undefined) yield file
    }
  } catch (error) {
    guard(path, () => {
      throw error
    })
  }
}
