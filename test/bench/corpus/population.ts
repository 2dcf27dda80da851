/**
 * Populations as Synthea and others export them: one transaction Bundle for each patient, in a folder or an archive, and
 * those of organizations and practitioners, which have to be there first.
 */
import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { extract } from 'tar-stream'

export interface PopulationBundle {
  readonly name: string
  readonly text: string
  readonly entries: number
  /** It holds patients; the others come first. */
  readonly isOfPatients: boolean
}

export const toBundle = (name: string, text: string): PopulationBundle => {
  const { entry = [] } = JSON.parse(text) as { entry?: readonly { resource?: { resourceType?: string } }[] }
  return {
    name,
    text,
    entries: entry.length,
    isOfPatients: entry.some(({ resource }) => resource?.resourceType === 'Patient'),
  }
}

const fromFolder = (path: string): readonly PopulationBundle[] =>
  readdirSync(path)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => toBundle(name, readFileSync(join(path, name), 'utf8')))

const UNPACK: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  zst: createZstdDecompress,
  gz: createGunzip,
  tgz: createGunzip,
}

const fromArchive = async (path: string): Promise<readonly PopulationBundle[]> => {
  const files = extract()
  const unpack = UNPACK[path.slice(path.lastIndexOf('.') + 1)]
  // What fails is heard by whoever reads the entries.
  if (unpack === undefined) pipeline(createReadStream(path), files, () => undefined)
  else pipeline(createReadStream(path), unpack(), files, () => undefined)
  const found: PopulationBundle[] = []
  for await (const file of files) {
    const chunks: Buffer[] = []
    for await (const chunk of file) chunks.push(chunk as Buffer)
    const { name, type } = file.header
    if (type === 'file' && name.endsWith('.json'))
      found.push(toBundle(basename(name), Buffer.concat(chunks).toString('utf8')))
  }
  return found.sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** The Bundles of a folder of JSON files, or of a .tar, .tar.gz or .tar.zst. */
export const readPopulation = async (path: string): Promise<readonly PopulationBundle[]> =>
  statSync(path).isDirectory() ? fromFolder(path) : fromArchive(path)
