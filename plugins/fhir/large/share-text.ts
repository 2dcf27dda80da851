/** A large text as bytes in shared memory, encoded in parts between which others are answered. */
import { createPause } from '../../../kernel/index.ts'

const PART_CHARS = 1024 * 1024

const isFirstHalf = (code: number): boolean => code >= 0xd800 && code < 0xdc00

export const shareText = async (text: string): Promise<Uint8Array> => {
  // Where it was decoded a moment ago, that was a turn.
  await new Promise((resolve) => setImmediate(resolve))
  const shared = Buffer.from(new SharedArrayBuffer(Buffer.byteLength(text)))
  const pause = createPause()
  let size = 0
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + PART_CHARS, text.length)
    // Both halves of a character are encoded together.
    if (end < text.length && isFirstHalf(text.charCodeAt(end - 1))) end += 1
    size += shared.write(text.slice(at, end), size)
    at = end
    await pause()
  }
  return shared
}
