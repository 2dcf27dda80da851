/**
 * The content of a Binary in its own media type, for a client that asks for that and not for FHIR.
 * https://hl7.org/fhir/R4/binary.html#rest
 */
import { NotAcceptable } from './errors.ts'
import { takes } from './media.ts'
import type { StoredVersion } from './store/version.ts'

const MEDIA_TYPE = /^[A-Za-z0-9!#$&^_.+-]{1,127}\/[A-Za-z0-9!#$&^_.+-]{1,127}(?:; ?charset=[A-Za-z0-9_-]{1,40})?$/
const UNKNOWN = 'application/octet-stream'

export interface Content {
  /** A media type that is safe in a header, whatever the resource says. */
  readonly type: string
  readonly bytes: Buffer
}

/** Throws 406 when the content is of no type that Accept names. */
export const readContent = (version: StoredVersion, accept: string): Content => {
  const { contentType, data } = JSON.parse(version.text) as { contentType?: unknown; data?: unknown }
  const type = typeof contentType === 'string' && MEDIA_TYPE.test(contentType) ? contentType : UNKNOWN
  if (!takes(accept, type)) throw NotAcceptable(accept.slice(0, 100))
  return { type, bytes: Buffer.from(typeof data === 'string' ? data : '', 'base64') }
}

/**
 * Headers: a document of unknown origin must not run in a browser on this server's origin. That its type must not be
 * guessed, the kernel says of every answer.
 */
export const GUARDS: readonly string[] = Object.freeze([
  ...['content-security-policy', "sandbox; default-src 'none'"],
  ...['content-disposition', 'attachment'],
])
