/** Reads the name of the first element of a document, and no more of it. */
import { isServerError } from '../../../kernel/index.ts'
import { decodeXml } from './decode-xml.ts'
import { parseXml } from './strict-parser.ts'

const LOOKED_AT = 64 * 1024 // bytes; a resource begins with its root, behind a declaration and comments

class Found {
  readonly name: string
  readonly namespace: string
  constructor(name: string, namespace: string) {
    this.name = name
    this.namespace = namespace
  }
}

/** Undefined where the bytes are no XML up to there. */
export const rootOf = (bytes: Uint8Array): Found | undefined => {
  try {
    // Cut in front of a byte of ASCII, so that no character is cut.
    let end = Math.min(bytes.length, LOOKED_AT)
    while (end > 0 && end < bytes.length && (bytes[end] as number) > 127) end -= 1
    parseXml(decodeXml(bytes.subarray(0, end)), {
      open({ local, uri }) {
        throw new Found(local, uri)
      },
      close: () => undefined,
      text: () => undefined,
      comment: () => undefined,
    })
  } catch (thrown) {
    if (thrown instanceof Found) return thrown
    if (!isServerError(thrown)) throw thrown
  }
  return undefined
}
