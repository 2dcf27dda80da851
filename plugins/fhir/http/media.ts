/** Media types of FHIR in requests and answers. https://hl7.org/fhir/R4/http.html#mime-type */
import { BodyType, NotAcceptable } from '../errors.ts'

export const FHIR_JSON = 'application/fhir+json; charset=utf-8'
export const FHIR_XML = 'application/fhir+xml; charset=utf-8'

export type Format = 'json' | 'xml'

/** Types that say FHIR, and those that only say in which syntax. */
const FHIR_TYPES: Readonly<Record<string, Format>> = {
  'application/fhir+json': 'json',
  'application/json+fhir': 'json',
  'application/fhir+xml': 'xml',
  'application/xml+fhir': 'xml',
}
const PLAIN_TYPES: Readonly<Record<string, Format>> = {
  'application/json': 'json',
  'text/json': 'json',
  'application/xml': 'xml',
  'text/xml': 'xml',
}
const ANY_TYPES = new Set(['*/*', 'application/*', 'text/*'])
/** A client that names one of these shows pages, and its plain XML is for these. */
const PAGE_TYPES = new Set(['text/html', 'application/xhtml+xml'])

const isFhirType = (name: string): boolean => Object.hasOwn(FHIR_TYPES, name)
const formatOfType = (name: string): Format | undefined =>
  isFhirType(name) ? FHIR_TYPES[name] : Object.hasOwn(PLAIN_TYPES, name) ? PLAIN_TYPES[name] : undefined

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

/** The format of a body. Throws 415 unless it is FHIR of this release in UTF-8. */
export const readContentType = (header: string): Format => {
  if (header === 'application/fhir+json' || header === 'application/json') return 'json'
  const media = parse(header)
  const charset = media.params.get('charset')
  const format = formatOfType(media.type)
  if (format === undefined || !isR4(media) || (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8'))
    throw BodyType(header.slice(0, 100))
  return format
}

/** Type and subtype of a media type, in lower case. */
export const nameOf = (header: string): string => parse(header).type

export const isXmlType = (header: string): boolean => formatOfType(nameOf(header)) === 'xml'
/** True for application/fhir+xml, and not for XML that may be anything, such as the content of a Binary. */
export const isFhirXmlType = (header: string): boolean => isFhirType(nameOf(header)) && isXmlType(header)

const qualityOf = ({ params }: MediaType): number => {
  const quality = Number(params.get('q') ?? 1)
  return Number.isNaN(quality) ? 1 : quality
}

const best = (all: readonly MediaType[]): number | undefined =>
  all.length === 0 ? undefined : Math.max(...all.map(qualityOf))

/**
 * The format that Accept ranks highest, JSON where both are equal; undefined where it allows neither. A format that is not
 * named has the quality of the ranges. RFC 9110, section 12.5.1.
 */
export const acceptedFormat = (accept: string | undefined): Format | undefined => {
  if (accept === undefined || accept === '*/*' || accept === 'application/fhir+json') return 'json'
  if (accept.trim() === '') return 'json' // RFC 9110, section 12.5.1, allows an empty list; it excludes nothing
  const accepted = accept.split(',').map(parse)
  const usable = accepted.filter(isR4)
  const named = (format: Format): readonly MediaType[] => usable.filter(({ type }) => formatOfType(type) === format)
  const ranges = best(usable.filter(({ type }) => ANY_TYPES.has(type))) ?? 0
  const json = best(named('json')) ?? ranges
  const xml = named('xml')
  const isForPages =
    accepted.some(({ type }) => PAGE_TYPES.has(type)) && !xml.some(({ type }) => isFhirType(type)) && json > 0
  if (!isForPages && (best(xml) ?? ranges) > json) return 'xml'
  return json > 0 ? 'json' : undefined
}

/**
 * True when the client wants a Binary as a resource instead of its content, whose media type is `type`. That is so when
 * Accept names FHIR and ranks the content no higher, and when it allows JSON or XML but not the content. Throws 406 when it
 * allows none of these.
 */
export const prefersFhir = (accept: string | undefined, type: string): boolean => {
  if (accept === undefined || accept.trim() === '') return false
  const accepted = accept.split(',').map(parse)
  const named = accepted.filter((one) => isFhirType(one.type) && isR4(one)).map(qualityOf)
  const wanted = parse(type).type
  // The most specific media range counts. RFC 9110, section 12.5.1.
  const range = [wanted, `${wanted.split('/')[0]}/*`, '*/*']
    .map((one) => accepted.find((media) => media.type === one))
    .find((one) => one !== undefined)
  const content = range === undefined ? 0 : qualityOf(range)
  const fhir = Math.max(0, ...named)
  if (fhir > 0 && fhir >= content) return true
  if (content > 0) return false
  if (acceptedFormat(accept) === undefined) throw NotAcceptable(accept.slice(0, 100))
  return true
}

/** The format that a value of `_format` names, which may be a short name. A plus in a URL may arrive as a space. */
export const namedFormat = (value: string): Format | undefined => {
  const media = parse(value)
  if (!isR4(media)) return undefined
  return media.type === 'json' || media.type === 'xml' ? media.type : formatOfType(media.type.replace(' ', '+'))
}

/** Throws 406 unless the client accepts FHIR in JSON or XML. `_format` overrides Accept. */
export const checkAccept = (accept: string | undefined, format: string | undefined): void => {
  if (format !== undefined) {
    if (namedFormat(format) === undefined) throw NotAcceptable(format.slice(0, 100))
    return
  }
  if (acceptedFormat(accept) === undefined) throw NotAcceptable((accept ?? '').slice(0, 100))
}

/** True when the client accepts gzip; stored bytes are then sent without decompression. RFC 9110, section 12.5.3. */
export const acceptsGzip = (accepted: string | string[] | undefined): boolean => {
  if (typeof accepted !== 'string' || !accepted.includes('gzip')) return false
  const part = accepted.split(',').find((one) => one.trim().startsWith('gzip'))
  return part !== undefined && !/;\s*q=0(\.0*)?\s*$/.test(part)
}
