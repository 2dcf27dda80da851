import { statSync } from 'node:fs'
import { dirname } from 'node:path'

/** True when another user may enter every folder on the way to a path. */
export const isOpenToOthers = (path: string): boolean =>
  (statSync(path).mode & 0o001) !== 0 && (dirname(path) === path || isOpenToOthers(dirname(path)))
