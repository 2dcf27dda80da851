/** Finds the files of an import by the paths of a command. */
import { createHash } from 'node:crypto'
import { createReadStream, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { NothingToImport, PathKind, PathMissing } from './errors.ts'
import { printable } from './printable.ts'

/** Endings of files that can be imported. */
export const ENDINGS = ['.ndjson', '.jsonl', '.json', '.ndjson.gz', '.jsonl.gz', '.json.gz', '.tar', '.tar.gz', '.tgz']
const LISTED = ENDINGS.join(', ')

export interface ImportSource {
  /** At most 64 characters. The same for a file that has not changed: a hash of its path, size and modification time. */
  readonly id: string
  /** The path as it was given, or its part behind the given directory; a URL without its query. */
  readonly name: string
  /** Length of the file; 0 where it is not known. */
  readonly bytes: number
  /** How the file is read; its name says so where this is left out. */
  readonly form?: 'lines'
  /** The only type of its resources; any type where this is left out. */
  readonly type?: string
  /** Opens the file from its beginning. Its `mark` is another text when the file has changed; empty where `id` changes. */
  open(): Promise<OpenedFile>
}

export interface OpenedFile {
  readonly bytes: AsyncIterable<Buffer>
  readonly mark: string
}

const CHUNK = 256 * 1024

export const canImport = (name: string): boolean => ENDINGS.some((ending) => name.toLowerCase().endsWith(ending))

const sourceOf = (path: string, name: string): ImportSource => {
  const real = realpathSync(path)
  const { size, mtimeMs } = statSync(real)
  const id = createHash('sha256').update(`${real}\0${size}\0${mtimeMs}`).digest('hex').slice(0, 32)
  const open = async (): Promise<OpenedFile> => ({
    bytes: createReadStream(real, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>,
    mark: '',
  })
  return { id, name: printable(name), bytes: size, open }
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
    for (const source of sources) if (!found.has(source.id)) found.set(source.id, source)
  }
  return [...found.values()]
}
