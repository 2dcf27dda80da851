/** Checks at every start whether a package on disk is what was installed, without reading it. */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { sep } from 'node:path'
import { LocalUnreadable } from './errors.ts'
import { candidates, findRoot, guard } from './package-root.ts'
import type { LocalPackage } from './request.ts'

/** Changes when a file of the package is added, removed or written: names, sizes and times of all files. */
const folderTag = (path: string): string =>
  guard(path, () => {
    const root = findRoot(path) + sep
    let text = ''
    // Thousands of files: path.join and an update of the hash for each would take longer than asking the system.
    for (const name of candidates(root)) {
      const { size, mtimeMs } = statSync(root + name)
      text += `${name}\0${size}\0${mtimeMs}\n`
    }
    return createHash('sha256').update(text).digest('hex')
  })

/**
 * A tag that differs after the size or the modification time of a .tgz file, or of a file in a directory, has changed, and
 * after files of a directory were added or removed. Throws LocalUnreadable if the package is missing or is no file.
 */
export const contentTag = ({ kind, path }: LocalPackage): string => {
  if (kind === 'folder') return folderTag(path)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw LocalUnreadable(path, 'there is no such file')
  if (!found.isFile()) throw LocalUnreadable(path, 'it is no file')
  return `${found.size} ${found.mtimeMs}`
}
