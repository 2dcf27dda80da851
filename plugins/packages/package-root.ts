/** The directory of a package on disk, and the files in it that may be definitions. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isServerError } from '../../kernel/index.ts'
import { LocalUnreadable, ManifestMissing } from './errors.ts'
import { describeFailure } from './http.ts'

/** The folder that package.json lies in: the directory itself, or `package` in it, as a package cache has it. */
export const findRoot = (path: string): string => {
  for (const root of [path, join(path, 'package')])
    if (statSync(join(root, 'package.json'), { throwIfNoEntry: false })?.isFile()) return root
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw ManifestMissing(path)
  throw LocalUnreadable(path, 'there is no such directory')
}

/** What the system says of the files becomes `LocalUnreadable`. */
export const guard = <T>(path: string, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    if (isServerError(error) || (error as NodeJS.ErrnoException).code === undefined) throw error
    throw LocalUnreadable(path, describeFailure(error)).with({ cause: error })
  }
}

export const candidates = (root: string): string[] => readdirSync(root).filter((name) => name.endsWith('.json'))
