/** Finds the files of an import by the paths of a command. */
import { createHash } from 'node:crypto'
import { readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { NothingToImport, PathKind, PathMissing } from './errors.ts'

/** Endings of files that can be imported. */
export const ENDINGS = ['.ndjson', '.jsonl', '.json', '.ndjson.gz', '.jsonl.gz', '.json.gz', '.tar', '.tar.gz', '.tgz']
const LISTED = ENDINGS.join(', ')

export interface ImportSource {
  /** The same for a file that has not changed: a hash of its path, size and modification time. */
  readonly id: string
  readonly path: string
  /** The path as it was given, or its part behind the given directory. */
  readonly name: string
  readonly bytes: number
}

export const canImport = (name: string): boolean => ENDINGS.some((ending) => name.toLowerCase().endsWith(ending))

const sourceOf = (path: string, name: string): ImportSource => {
  const real = realpathSync(path)
  const { size, mtimeMs } = statSync(real)
  const id = createHash('sha256').update(`${real}\0${size}\0${mtimeMs}`).digest('hex').slice(0, 32)
  return { id, path: real, name, bytes: size }
}

const filesIn = (folder: string): ImportSource[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && canImport(one.name))
    .map((one) => join(one.parentPath, one.name))
    .sort()
    .map((path) => sourceOf(path, path.slice(folder.length).replace(/^[\\/]+/, '')))

/** Files of directories come in the order of their paths. Throws `PathMissing`, `PathKind` and `NothingToImport`. */
export const findSources = (paths: readonly string[]): readonly ImportSource[] => {
  const found = new Map<string, ImportSource>()
  for (const path of paths) {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) throw PathMissing(path)
    if (!stat.isDirectory() && !canImport(path)) throw PathKind(path, LISTED)
    const sources = stat.isDirectory() ? filesIn(path) : [sourceOf(path, basename(path))]
    if (sources.length === 0) throw NothingToImport(path, LISTED)
    for (const source of sources) if (!found.has(source.path)) found.set(source.path, source)
  }
  return [...found.values()]
}
