/**
 * Bodies and answers in XML. A body is made JSON before anything else reads it, and an answer is made XML when all else is
 * done, so that rulings, checks and the audit trail are those of JSON. What is large is converted by a thread.
 */
import { isServerError } from '../../../kernel/index.ts'
import type { XmlCodec } from '../../model/service.ts'
import { type LargeBodies, UnreadableBody } from '../large/large-bodies.ts'

/**
 * XML takes the main thread several times as long as JSON of the same size, so it is large when JSON of four times its size
 * would be.
 */
const TIMES = 4

/** When the signal aborts, work in a thread ends. */
type Asking = { readonly signal: AbortSignal | undefined }

export interface XmlConversion {
  /**
   * The bytes of JSON for a body in XML. A body that is refused becomes an UnreadableBody, so that the interaction throws its
   * error, where it throws that of a body in JSON: behind the ruling, and recorded in the audit trail.
   */
  read(asking: Asking, bytes: Uint8Array): Promise<Uint8Array | UnreadableBody>
  /** Throws 406 for what XML cannot hold. */
  write(asking: Asking, json: string | Uint8Array, pretty: boolean): Promise<Buffer>
  readonly rootOf: XmlCodec['rootOf']
}

export interface XmlConversionParts {
  readonly codec: XmlCodec
  readonly large: Pick<LargeBodies, 'least' | 'readXml' | 'writeXml'>
}

export const createXmlConversion = ({ codec, large }: XmlConversionParts): XmlConversion => {
  const isLarge = (size: number): boolean => size * TIMES >= large.least
  return {
    async read(asking, bytes) {
      if (bytes.length === 0) return bytes
      try {
        if (isLarge(bytes.length)) return await large.readXml(asking, bytes)
        return Buffer.from(await codec.toJson(bytes))
      } catch (error) {
        if (!isServerError(error) || error.status >= 500) throw error
        return new UnreadableBody(error)
      }
    },
    async write(asking, json, pretty) {
      if (isLarge(json.length)) return large.writeXml(asking, json, pretty)
      return Buffer.from(
        await codec.toXml(typeof json === 'string' ? json : Buffer.from(json).toString('utf8'), pretty),
      )
    },
    rootOf: codec.rootOf,
  }
}
