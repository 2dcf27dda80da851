/** Reads a file of a release in chunks that end between two characters, and refuses one that is not UTF-8. */
import { isUtf8 } from 'node:buffer'
import { ReleaseLine } from '../errors.ts'
import type { ReleaseFile } from './release-files.ts'

const LINE_FEED = 0x0a // in UTF-8 never part of another character

/** Where the last character begins if it is not ASCII, as its end may be in the next chunk; else the end. */
const endOfWhole = (bytes: Buffer): number => {
  let at = bytes.length
  while (at > 0 && bytes.length - at < 3 && ((bytes[at - 1] as number) & 0xc0) === 0x80) at -= 1
  return at > 0 && (bytes[at - 1] as number) >= 0xc0 ? at - 1 : bytes.length
}

const countLines = (bytes: Buffer): number => {
  let count = 0
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1
  return count
}

/** Number of lines in front of the first one that is not UTF-8. */
const linesBefore = (bytes: Buffer): number => {
  let [count, from] = [0, 0]
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, from)) {
    if (!isUtf8(bytes.subarray(from, at))) break
    count += 1
    from = at + 1
  }
  return count
}

/** Throws `ReleaseLine`. */
export async function* readUtf8(file: ReleaseFile): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0)
  let lines = 0
  const checked = (bytes: Buffer): Buffer => {
    if (!isUtf8(bytes)) throw ReleaseLine(file.label, lines + linesBefore(bytes) + 1, 'it is not UTF-8')
    lines += countLines(bytes)
    return bytes
  }
  for await (const chunk of (await file.open()) as AsyncIterable<Buffer>) {
    const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    const end = endOfWhole(bytes)
    held = bytes.subarray(end)
    if (end > 0) yield checked(bytes.subarray(0, end))
  }
  if (held.length > 0) yield checked(held)
}
