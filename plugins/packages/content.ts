/** A package in memory, ready to be stored: its package.json and its definitions, each parsed and compressed once. */
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { PackageFile } from './archive.ts'
import { defines, mayDefine } from './definition-types.ts'
import { EntryRefused, ManifestMissing } from './errors.ts'
import { type Manifest, R4_CORE, R4_VERSION, readManifest } from './manifest.ts'

export interface CompressedDefinition {
  readonly type: string
  readonly id: string
  readonly url: string | undefined
  readonly version: string | undefined
  /** The file's text, compressed by zstd. */
  readonly body: Uint8Array
}

export interface PackageContent {
  readonly manifest: Manifest
  readonly definitions: readonly CompressedDefinition[]
  /** `name@version` of the core package, where this package holds its definitions under another name. */
  readonly standsFor: string | undefined
  /** SHA-256 over its definitions, hexadecimal. */
  readonly digest: string
}

// Level 1 compresses definitions 7 times at 3 ms per megabyte; gzip 6 times at 8 ms.
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const compress = (bytes: Uint8Array): Uint8Array => zstdCompressSync(bytes, LEVEL)
/** The text of a stored body. */
export const decompress = (body: Uint8Array): string => zstdDecompressSync(body).toString('utf8')

const BOM = Buffer.from([0xef, 0xbb, 0xbf])
const BASE = 'http://hl7.org/fhir'
// A package with all of these at 4.0.1 holds the definitions of the R4 core package.
const CORE_MARKS = [
  `StructureDefinition ${BASE}/StructureDefinition/Resource`,
  `StructureDefinition ${BASE}/StructureDefinition/Patient`,
  `StructureDefinition ${BASE}/StructureDefinition/HumanName`,
  `SearchParameter ${BASE}/SearchParameter/Resource-id`,
  `CompartmentDefinition ${BASE}/CompartmentDefinition/patient`,
].map((mark) => `${mark}|${R4_VERSION}`)

const isText = (value: unknown): value is string => typeof value === 'string'

/** Reads one file as a definition; undefined when it is something else. Throws when it is not JSON. */
const readDefinition = ({ name, bytes: given }: PackageFile, subject: string): CompressedDefinition | undefined => {
  const bytes = given.subarray(0, 3).equals(BOM) ? given.subarray(3) : given
  if (!isUtf8(bytes)) throw EntryRefused(subject, JSON.stringify(name), 'is not UTF-8')
  let resource: unknown
  try {
    resource = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw EntryRefused(subject, JSON.stringify(name), 'is not JSON')
  }
  if (typeof resource !== 'object' || resource === null) return undefined
  const { resourceType, id, url, version } = resource as Record<string, unknown>
  if (!isText(resourceType) || !mayDefine(resourceType)) return undefined
  return {
    type: resourceType,
    id: isText(id) ? id : name.slice(0, -'.json'.length),
    url: isText(url) ? url : undefined,
    version: isText(version) ? version : undefined,
    body: compress(bytes),
  }
}

/**
 * Reads the files of one package. `subject` names it in messages, `expected` is the requested name and version. Throws
 * when a file is not JSON, or package.json is missing or names another package. Of two definitions with the same type
 * and id the first is used.
 */
export const readPackageContent = async (
  files: AsyncIterable<PackageFile>,
  subject: string,
  expected?: { readonly name: string; readonly version: string },
  onFile: (count: number) => void = () => undefined,
): Promise<PackageContent> => {
  const found = new Map<string, CompressedDefinition>()
  const digest = createHash('sha256')
  let manifest: Manifest | undefined
  let count = 0
  for await (const file of files) {
    count += 1
    onFile(count)
    if (file.name === 'package.json') {
      manifest = readManifest(file.bytes.toString('utf8'), subject, expected)
      continue
    }
    const definition = readDefinition(file, subject)
    if (definition === undefined || found.has(`${definition.type}/${definition.id}`)) continue
    found.set(`${definition.type}/${definition.id}`, definition)
    digest.update(file.bytes)
  }
  if (manifest === undefined) throw ManifestMissing(subject)
  const { name, type } = manifest
  const definitions = [...found.values()].filter((definition) => defines(definition.type, type))
  const marks = new Set(definitions.map(({ type, url, version }) => `${type} ${url}|${version}`))
  const holdsCore = name !== R4_CORE && CORE_MARKS.every((mark) => marks.has(mark))
  return {
    manifest,
    definitions,
    standsFor: holdsCore ? `${R4_CORE}@${R4_VERSION}` : undefined,
    digest: digest.digest('hex'),
  }
}
