/**
 * The content of a Binary in its own media type, unless FHIR is asked for.
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

const MIN_APART = 128 * 1024 // stored bytes from which on the content is unpacked and decoded in parts
const UNPACKED_AT_ONCE = 256 * 1024
const PART = 1024 * 1024 // characters of base64 that are decoded at once

export interface BinaryContent {
  /** A media type that is safe in a header, whatever the resource says. */
  readonly type: string
  readonly bytes: Buffer
}

/** A media type with or without parameters that is safe in a header. RFC 9110, section 8.3.1. */
export const isMediaType = (text: string): boolean => text.length <= MAX_CHARACTERS && MEDIA_TYPE.test(text.trim())

const typeOf = (contentType: unknown): string =>
  typeof contentType === 'string' && isMediaType(contentType) ? contentType.trim() : UNKNOWN

interface Found {
  readonly type: string
  /** The content is decoded only when it is to be sent. */
  decode(): MaybePromise<Buffer>
}

const findSmall = ({ text }: StoredVersion): Found => {
  const { contentType, data } = JSON.parse(text) as { contentType?: unknown; data?: unknown }
  return { type: typeOf(contentType), decode: () => Buffer.from(typeof data === 'string' ? data : '', 'base64') }
}

/** White space may stand between the characters. */
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

/** Undefined when the client asks for FHIR. Throws 406 when it takes neither that nor the type of the content. */
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
 * Headers: a document of unknown origin must not run in a browser on this server's origin. That its type must not be
 * guessed, the kernel says of every answer.
 */
export const SAFETY_HEADERS: readonly string[] = Object.freeze([
  ...['content-security-policy', "sandbox; default-src 'none'"],
  ...['content-disposition', 'attachment'],
])
