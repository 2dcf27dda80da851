/** Reads a package from a directory: the directory itself, or a folder `package` in it, as in a package cache. */

import { statSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ARCHIVE_LIMITS, type PackageFile } from './archive.ts'
import { leadingType, mayDefine } from './definition-types.ts'
import { EntryRefused } from './errors.ts'
import { candidates, findRoot, guard } from './package-root.ts'

const AT_ONCE = 16 // files read at the same time
const LOOK_BYTES = 512
const LARGE_BYTES = 256 * 1024 // bytes; of a larger file the beginning is checked before it is read

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
