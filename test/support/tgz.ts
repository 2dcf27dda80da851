/** Makes .tgz files entry by entry, valid and malicious ones: a test can set every header field. */
import { gzipSync } from 'node:zlib'

export interface TarEntry {
  readonly name: string | Buffer
  readonly body?: string | Buffer
  /**
   * Type flag of the header: `0` file, `1` hard link, `2` symbolic link, `3` device, `5` directory, `S` sparse, `x`
   * pax.
   */
  readonly flag?: string
  readonly mode?: number
  readonly linkname?: string
  /** Size in the header; the length of the body when unset. */
  readonly size?: number
}

const BLOCK = 512

const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`

/** A size as the header holds it: octal, or base 256 where that is too short. */
const sizeField = (size: number): Buffer => {
  if (size < 8 ** 11) return Buffer.from(octal(size, 12))
  const field = Buffer.alloc(12)
  field.writeBigUInt64BE(BigInt(size), 4)
  field[0] = 0x80
  return field
}

/** One header block. https://www.gnu.org/software/tar/manual/html_node/Standard.html */
const header = ({ name, flag = '0', mode = 0o644, linkname = '' }: TarEntry, size: number): Buffer => {
  const block = Buffer.alloc(BLOCK)
  Buffer.from(name).copy(block, 0, 0, 100)
  block.write(octal(mode, 8), 100)
  block.write(octal(0, 8), 108)
  block.write(octal(0, 8), 116)
  sizeField(size).copy(block, 124)
  block.write(octal(1_572_566_400, 12), 136)
  block.write('        ', 148)
  block.write(flag, 156)
  block.write(linkname, 157, 100)
  block.write('ustar\u000000', 257)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/** The blocks of one entry. */
export const tarBlocks = (entry: TarEntry): Buffer => {
  const body = Buffer.from(entry.body ?? '')
  const padding = Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)
  return Buffer.concat([header(entry, entry.size ?? body.length), body, padding])
}

/** A .tar with these entries and its end. */
export const tar = (entries: Iterable<TarEntry>): Buffer =>
  Buffer.concat([...[...entries].map(tarBlocks), Buffer.alloc(2 * BLOCK)])

/** A .tgz with these entries. */
export const tgz = (entries: Iterable<TarEntry>): Buffer => gzipSync(tar(entries))

/** A pax extended header that changes the entry after it, e.g. `{ path: '../x' }`. */
export const pax = (records: Readonly<Record<string, string>>): TarEntry => ({
  name: 'PaxHeader',
  flag: 'x',
  body: Object.entries(records)
    .map(([key, value]) => {
      const rest = ` ${key}=${value}\n`
      const digits = String(Buffer.byteLength(rest)).length
      const length = Buffer.byteLength(rest) + digits
      return `${String(length).length === digits ? length : length + 1}${rest}`
    })
    .join(''),
})

export interface TestPackage {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly fhirVersions?: readonly string[]
  readonly type?: string
  /** Files in the package folder, by name; objects become JSON. */
  readonly files?: Readonly<Record<string, object | string>>
}

const asText = (content: object | string): string => (typeof content === 'string' ? content : JSON.stringify(content))

/** The files in a package's folder, package.json included. */
export const packageFiles = ({ files = {}, ...manifest }: TestPackage): Readonly<Record<string, string>> => ({
  'package.json': JSON.stringify(manifest),
  ...Object.fromEntries(Object.entries(files).map(([name, content]) => [name, asText(content)])),
})

/** The entries of a package's .tgz. */
export const packageEntries = (pack: TestPackage): TarEntry[] =>
  Object.entries(packageFiles(pack)).map(([name, body]) => ({ name: `package/${name}`, body }))

/** The .tgz that a registry sends. */
export const packageTgz = (pack: TestPackage): Buffer => tgz(packageEntries(pack))

/** A minimal StructureDefinition. */
export const structure = (id: string, url: string, version?: string): object => ({
  resourceType: 'StructureDefinition',
  id,
  url,
  ...(version === undefined ? {} : { version }),
})
