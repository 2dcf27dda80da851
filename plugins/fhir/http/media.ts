/** Media types of FHIR JSON in requests and answers. https://hl7.org/fhir/R4/http.html#mime-type */
import { BodyType, NotAcceptable } from '../errors.ts'

export const FHIR_JSON = 'application/fhir+json; charset=utf-8'

const JSON_TYPES = new Set(['application/fhir+json', 'application/json', 'text/json', 'application/json+fhir'])
const ANY_TYPES = new Set(['*/*', 'application/*', 'text/*'])
// `_format` has short names, and a plus in a URL may arrive as a space.
const FORMATS = new Set([...JSON_TYPES, 'json', 'application/fhir json', 'application/json fhir'])

interface MediaType {
  readonly type: string
  readonly params: ReadonlyMap<string, string>
}

const parse = (text: string): MediaType => {
  const [type = '', ...rest] = text.split(';')
  const params = new Map<string, string>()
  for (const part of rest) {
    const equals = part.indexOf('=')
    if (equals > 0)
      params.set(
        part.slice(0, equals).trim().toLowerCase(),
        part
          .slice(equals + 1)
          .trim()
          .replace(/^"(.*)"$/, '$1')
          .toLowerCase(),
      )
  }
  return { type: type.trim().toLowerCase(), params }
}

const isR4 = ({ params }: MediaType): boolean => {
  const version = params.get('fhirversion')
  return version === undefined || version === '4.0' || version === '4.0.1'
}

/** Throws 415 unless the body is FHIR JSON of this release in UTF-8. */
export const checkContentType = (header: string): void => {
  if (header === 'application/fhir+json' || header === 'application/json') return
  const media = parse(header)
  const charset = media.params.get('charset')
  if (
    !JSON_TYPES.has(media.type) ||
    !isR4(media) ||
    (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8')
  )
    throw BodyType(header.slice(0, 100))
}

/** Type and subtype of a media type, in lower case. */
export const nameOf = (header: string): string => parse(header).type

const isZero = (quality: string | undefined): boolean => quality !== undefined && Number(quality) === 0

/** True when the header Accept allows FHIR JSON. */
export const acceptsFhir = (accept: string | undefined): boolean => {
  if (accept === undefined || accept === '*/*' || accept === 'application/fhir+json') return true
  if (accept.trim() === '') return true // RFC 9110, section 12.5.1, allows an empty list; it excludes nothing
  return accept.split(',').some((part) => {
    const media = parse(part)
    return (JSON_TYPES.has(media.type) || ANY_TYPES.has(media.type)) && isR4(media) && !isZero(media.params.get('q'))
  })
}

const FHIR_TYPES = new Set(['application/fhir+json', 'application/json+fhir'])

const qualityOf = ({ params }: MediaType): number => {
  const quality = Number(params.get('q') ?? 1)
  return Number.isNaN(quality) ? 1 : quality
}

/**
 * True when the client wants a Binary as FHIR JSON instead of its content, whose media type is `type`. That is so when
 * Accept names FHIR and ranks the content no higher, and when it allows JSON but not the content. Throws 406 when it
 * allows neither.
 */
export const prefersFhir = (accept: string | undefined, type: string): boolean => {
  if (accept === undefined || accept.trim() === '') return false
  const accepted = accept.split(',').map(parse)
  const named = accepted.filter((one) => FHIR_TYPES.has(one.type) && isR4(one)).map(qualityOf)
  const wanted = parse(type).type
  // The most specific media range counts. RFC 9110, section 12.5.1.
  const range = [wanted, `${wanted.split('/')[0]}/*`, '*/*']
    .map((one) => accepted.find((media) => media.type === one))
    .find((one) => one !== undefined)
  const content = range === undefined ? 0 : qualityOf(range)
  const fhir = Math.max(0, ...named)
  if (fhir > 0 && fhir >= content) return true
  if (content > 0) return false
  if (!acceptsFhir(accept)) throw NotAcceptable(accept.slice(0, 100))
  return true
}

/** Throws 406 unless the client accepts FHIR JSON. `_format` overrides Accept. */
export const checkAccept = (accept: string | undefined, format: string | undefined): void => {
  if (format !== undefined) {
    const media = parse(format)
    if (!(FORMATS.has(media.type) && isR4(media))) throw NotAcceptable(format.slice(0, 100))
    return
  }
  if (!acceptsFhir(accept)) throw NotAcceptable((accept ?? '').slice(0, 100))
}

/** True when the client accepts gzip; stored bytes are then sent without decompression. RFC 9110, section 12.5.3. */
export const acceptsGzip = (accepted: string | string[] | undefined): boolean => {
  if (typeof accepted !== 'string' || !accepted.includes('gzip')) return false
  const part = accepted.split(',').find((one) => one.trim().startsWith('gzip'))
  return part !== undefined && !/;\s*q=0(\.0*)?\s*$/.test(part)
}
