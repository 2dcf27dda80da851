/**
 * The content of a Binary in its own media type, unless the client requests FHIR.
 * https://hl7.org/fhir/R4/binary.html#rest
 */

import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip, type ZlibOptions } from 'node:zlib'
import { chain, type MaybePromise } from '../../database/service.ts'
import { topLevelStrings } from '../../model/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { prefersFhir } from '../http/media.ts'

const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]{1,127}"
const PARAMETER = `[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[ !#-[\\]-~]{0,200}")`
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:${PARAMETER}){0,10}$`)
const MAX_CHARACTERS = 250 // of a media type with its parameters
const UNKNOWN = 'application/octet-stream'

const MIN_APART = 128 * 1024 // stored bytes from which on the content is decompressed and decoded in parts
const UNPACKED_AT_ONCE = 256 * 1024
const PART = 1024 * 1024 // characters of base64 that are decoded in one tick

export interface BinaryContent {
  /** A media type that is safe in a header; application/octet-stream when the one of the resource is not. */
  readonly type: string
  readonly bytes: Buffer
}

/** A media type with or without parameters that is safe in a header. RFC 9110, section 8.3.1. */
export const isMediaType = (text: string): boolean => text.length <= MAX_CHARACTERS && MEDIA_TYPE.test(text.trim())

const typeOf = (contentType: unknown): string =>
  typeof contentType === 'string' && isMediaType(contentType) ? contentType.trim() : UNKNOWN

interface Found {
  readonly type: string
  /** Decodes the content; called only when the content is sent. */
  decode(): MaybePromise<Buffer>
}

const findSmall = ({ text }: StoredVersion): Found => {
  const { contentType, data } = JSON.parse(text) as { contentType?: unknown; data?: unknown }
  return { type: typeOf(contentType), decode: () => Buffer.from(typeof data === 'string' ? data : '', 'base64') }
}

/** Decodes base64 in parts; other requests run in between. Whitespace between characters is ignored. */
const decodeInParts = async (bytes: Buffer, start: number, end: number): Promise<Buffer> => {
  const decoded: Buffer[] = []
  let rest = ''
  for (let at = start; at < end; at += PART) {
    const part = rest + bytes.toString('latin1', at, Math.min(at + PART, end)).replaceAll(/\s+/g, '')
    const whole = part.length - (part.length % 4)
    rest = part.slice(whole)
    decoded.push(Buffer.from(part.slice(0, whole), 'base64'))
    await setImmediate()
  }
  return Buffer.concat([...decoded, Buffer.from(rest, 'base64')])
}

const unpack = promisify<Buffer, ZlibOptions, Buffer>(gunzip)

const findLarge = async (version: StoredVersion): Promise<Found> => {
  const { encoding, gzip } = version
  const bytes = gzip
    ? await unpack(version.bytes, { chunkSize: UNPACKED_AT_ONCE })
    : encoding === 0
      ? version.bytes
      : Buffer.from(version.text)
  const found = await topLevelStrings(bytes, ['contentType', 'data'])
  const type = found.get('contentType')
  const data = found.get('data')
  if (data === undefined || bytes.subarray(data.start, data.end).includes('\\')) return findSmall(version)
  const named = type === undefined ? undefined : JSON.parse(bytes.toString('utf8', type.start - 1, type.end + 1))
  return { type: typeOf(named), decode: () => decodeInParts(bytes, data.start, data.end) }
}

/**
 * Undefined when the client wants the Binary as FHIR JSON. Throws 406 when it accepts neither FHIR JSON nor the
 * content.
 */
export const readBinaryContent = (
  version: StoredVersion,
  accept: string | undefined,
): MaybePromise<BinaryContent | undefined> => {
  const found = version.bytes.length < MIN_APART ? findSmall(version) : findLarge(version)
  return chain(found, ({ type, decode }) =>
    prefersFhir(accept, type) ? undefined : chain(decode(), (bytes): BinaryContent => ({ type, bytes })),
  )
}

/**
 * Headers that keep content of unknown origin from running as a page of this server. The kernel adds
 * `X-Content-Type-Options: nosniff` to every answer.
 */
export const SAFETY_HEADERS: readonly string[] = Object.freeze([
  ...['content-security-policy', "sandbox; default-src 'none'"],
  ...['content-disposition', 'attachment'],
])
