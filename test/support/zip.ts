/** Makes zip archives. https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT */
import { crc32, deflateRawSync } from 'node:zlib'

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50
const END = 0x06054b50
const DEFLATED = 8
const VERSION = 20

/** Files by their path in the archive. */
export const zip = (files: Readonly<Record<string, string | Buffer>>): Buffer => {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [path, content] of Object.entries(files)) {
    const [name, plain] = [Buffer.from(path), Buffer.from(content)]
    const packed = deflateRawSync(plain)
    // Version, flags, method, time, date, checksum, both lengths, length of the name, none of more.
    const common = Buffer.alloc(26)
    common.writeUInt16LE(VERSION, 0)
    common.writeUInt16LE(DEFLATED, 4)
    common.writeUInt32LE(crc32(plain), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(plain.length, 18)
    common.writeUInt16LE(name.length, 22)
    const signature = (value: number): Buffer => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32LE(value)
      return bytes
    }
    parts.push(signature(LOCAL), common, name, packed)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    directory.push(signature(CENTRAL), Buffer.from([VERSION, 0]), common, rest, name)
    offset += 30 + name.length + packed.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(END, 0)
  end.writeUInt16LE(Object.keys(files).length, 8)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, central, end])
}
