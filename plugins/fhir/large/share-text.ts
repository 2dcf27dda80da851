/** Encodes a large text into shared memory, in parts; other requests are answered in between. */
import { createPause } from '../../../kernel/index.ts'

const PART_CHARS = 1024 * 1024

const isFirstHalf = (code: number): boolean => code >= 0xd800 && code < 0xdc00

export const shareText = async (text: string): Promise<Uint8Array> => {
  // The text may have been decoded in this tick, so the encoding begins in another one.
  await new Promise((resolve) => setImmediate(resolve))
  const shared = Buffer.from(new SharedArrayBuffer(Buffer.byteLength(text)))
  const pause = createPause()
  let size = 0
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + PART_CHARS, text.length)
    // The two halves of a surrogate pair are encoded together.
    if (end < text.length && isFirstHalf(text.charCodeAt(end - 1))) end += 1
    size += shared.write(text.slice(at, end), size)
    at = end
    await pause()
  }
  return shared
}
