/** Opens a file of a listed directory. A link that leads out of it is refused. */
import { constants, createReadStream } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import type { AllowedFile } from './allowed-sources.ts'
import { ImportSourceRefused, SourceMissing } from './errors.ts'
import type { OpenedFile } from './find-sources.ts'

const CHUNK = 256 * 1024
const { O_RDONLY, O_NOFOLLOW } = constants

/** `name`: for messages. Throws 4xx for a file that is not there, or may not be read. */
export const openListedFile = async (
  { path, directory }: Extract<AllowedFile, { kind: 'file' }>,
  name: string,
): Promise<OpenedFile> => {
  const missing = () => SourceMissing(name)
  const real = await realpath(path).catch(() => {
    throw missing()
  })
  const root = await realpath(directory).catch(() => {
    throw missing()
  })
  if (!real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)) throw ImportSourceRefused(name)
  const found = await stat(real)
  if (!found.isFile()) throw missing()
  const bytes = createReadStream(real, { flags: (O_RDONLY | O_NOFOLLOW) as unknown as string, highWaterMark: CHUNK })
  return { bytes: bytes as AsyncIterable<Buffer>, mark: `${found.size}:${found.mtimeMs}` }
}
