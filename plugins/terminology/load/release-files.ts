/** The files of a release of a code system: those of a folder, those of a zip archive, or single ones. Nothing is unpacked to disk. */
import { createReadStream, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { ReleasePath } from '../errors.ts'

const CHUNK = 256 * 1024

export interface ReleaseFile {
  /** Its name without folders. */
  readonly name: string
  /** What messages call it: its path, or that of its archive and its path in there. */
  readonly label: string
  /** Length, unpacked. */
  readonly bytes: number
  open(): Promise<Readable>
}

export interface ReleaseFiles {
  readonly files: readonly ReleaseFile[]
  close(): void
}

const plainFile = (path: string): ReleaseFile => ({
  name: basename(path),
  label: path,
  bytes: statSync(path).size,
  open: async () => createReadStream(path, { highWaterMark: CHUNK }),
})

const filesIn = (folder: string): readonly ReleaseFile[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => plainFile(join(one.parentPath, one.name)))

const archivedFile = (path: string, zip: ZipFile, entry: Entry): ReleaseFile => ({
  name: basename(entry.fileName),
  label: `${path}/${entry.fileName}`,
  bytes: entry.uncompressedSize,
  open: () => zip.openReadStreamPromise(entry),
})

const openArchive = async (path: string): Promise<{ zip: ZipFile; files: readonly ReleaseFile[] }> => {
  const zip = await openPromise(path, { autoClose: false })
  try {
    const files: ReleaseFile[] = []
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName.endsWith('/')) continue
      if (!entry.canDecodeFileData())
        throw new Error(`"${entry.fileName}" is encrypted, or compressed in an unknown way`)
      files.push(archivedFile(path, zip, entry))
    }
    return { zip, files }
  } catch (error) {
    zip.close()
    throw error
  }
}

const byLabel = (one: ReleaseFile, other: ReleaseFile): number => (one.label < other.label ? -1 : 1)

/** Throws `ReleasePath` for a path that cannot be read. The files come in the order of their paths. */
export const openReleaseFiles = async (paths: readonly string[]): Promise<ReleaseFiles> => {
  const archives: ZipFile[] = []
  const files: ReleaseFile[] = []
  const close = (): void => {
    for (const zip of archives) zip.close()
  }
  for (const path of paths)
    try {
      if (statSync(path).isDirectory()) files.push(...filesIn(path))
      else if (/\.zip$/i.test(path)) {
        const { zip, files: archived } = await openArchive(path)
        archives.push(zip)
        files.push(...archived)
      } else files.push(plainFile(path))
    } catch (error) {
      close()
      throw ReleasePath(path, (error as Error).message)
    }
  // Folders that archives made by macOS have beside the content.
  return { files: files.filter(({ name }) => !name.startsWith('.')).sort(byLabel), close }
}
