/**
 * The Chromium that the package @sparticuz/chromium carries, compressed, in its tarball: nothing is downloaded. It is
 * unpacked once for each version, beside the installed packages.
 */
import { createReadStream, existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { createBrotliDecompress } from 'node:zlib'
import { extract } from 'tar-stream'

export interface ChromiumInstallation {
  readonly executable: string
  readonly environment: Readonly<Record<string, string>>
}

/** Why there is no Chromium on this computer; undefined where there is one. */
export const chromiumMissing: string | undefined =
  `${process.platform}-${process.arch}` === 'linux-x64' || process.env.CHROMIUM_PATH !== undefined
    ? undefined
    : `the package @sparticuz/chromium has a Chromium for linux-x64 only, not for ${process.platform}-${process.arch}; ` +
      'CHROMIUM_PATH names another one'

const unpackFile = async (from: string, to: string): Promise<void> => {
  const chunks: Buffer[] = []
  await pipeline(createReadStream(from), createBrotliDecompress(), async (source) => {
    for await (const chunk of source as AsyncIterable<Buffer>) chunks.push(chunk)
  })
  await writeFile(to, Buffer.concat(chunks), { mode: 0o755 })
}

/** Only files are written, each under its base name: the archives have no two of one name. */
const unpackArchive = async (from: string, folder: string): Promise<void> => {
  await mkdir(folder)
  const entries = extract()
  const reading = pipeline(createReadStream(from), createBrotliDecompress(), entries)
  for await (const entry of entries) {
    const chunks: Buffer[] = []
    for await (const chunk of entry) chunks.push(chunk as Buffer)
    if (entry.header.type === 'file') await writeFile(join(folder, basename(entry.header.name)), Buffer.concat(chunks))
  }
  await reading
}

const fontsIn = (folder: string): string => `<?xml version="1.0"?>
<fontconfig><dir>${folder}</dir><dir>/usr/share/fonts</dir><cachedir>${folder}/cache</cachedir></fontconfig>
`

const unpack = async (from: string, to: string): Promise<void> => {
  await mkdir(dirname(to), { recursive: true })
  // Other processes may unpack at the same time: the first to finish names the folder.
  const made = await mkdtemp(`${to}-`)
  await chmod(made, 0o755)
  await unpackFile(join(from, 'chromium.br'), join(made, 'chromium'))
  await unpackArchive(join(from, 'al2023.tar.br'), join(made, 'lib'))
  await unpackArchive(join(from, 'fonts.tar.br'), join(made, 'fonts'))
  await writeFile(join(made, 'fonts', 'fonts.conf'), fontsIn(join(to, 'fonts')))
  await rename(made, to).catch(async (error: NodeJS.ErrnoException) => {
    await rm(made, { recursive: true })
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
}

/** Ask `chromiumMissing` first. */
export const findChromium = async (): Promise<ChromiumInstallation> => {
  if (process.env.CHROMIUM_PATH !== undefined) return { executable: process.env.CHROMIUM_PATH, environment: {} }
  const home = join(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))), '..')
  const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as { version: string }
  const folder = join(home, '..', '..', '.cache', `chromium-${version}`)
  if (!existsSync(folder)) await unpack(join(home, 'bin'), folder)
  return {
    executable: join(folder, 'chromium'),
    // Libraries and fonts that a small system lacks, so that pages look the same everywhere.
    environment: { LD_LIBRARY_PATH: join(folder, 'lib'), FONTCONFIG_PATH: join(folder, 'fonts') },
  }
}
