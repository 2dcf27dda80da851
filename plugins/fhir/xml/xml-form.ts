/** Whether a request asks for an answer in XML. https://hl7.org/fhir/R4/http.html#mime-type */
import type { IncomingHttpHeaders } from 'node:http'
import { acceptedFormat, isFhirXmlType, namedFormat } from '../http/media.ts'

export interface AnsweredRequest {
  readonly headers: IncomingHttpHeaders
  readonly url: string
  /** Bytes of a form, in which a search is posted. */
  readonly body?: unknown
}

export interface XmlForm {
  readonly pretty: boolean
}

const FORM = /^application\/x-www-form-urlencoded\b/i
/** A query that may have `_format`, also with a name that is percent-encoded. */
const MAY_NAME_FORMAT = /[?&](?:_format=|[^=&]*%)/

const queryIn = (url: string): string => url.slice(url.indexOf('?') + 1)

const isForm = (headers: IncomingHttpHeaders, body: unknown): body is Uint8Array =>
  body instanceof Uint8Array && FORM.test(headers['content-type'] ?? '')

/** The parameters of the query, then those of a form. */
const parametersOf = ({ headers, url, body }: AnsweredRequest): URLSearchParams => {
  const query = url.includes('?') ? queryIn(url) : ''
  return new URLSearchParams(isForm(headers, body) ? `${query}&${Buffer.from(body).toString('utf8')}` : query)
}

/** Media types are case-insensitive. RFC 9110, section 8.3.1. */
const MAY_RANK_XML = /xml|;/i

const isPlain = (accept: string | undefined): boolean =>
  accept === undefined || accept === '*/*' || !MAY_RANK_XML.test(accept)

/**
 * Undefined where the answer is JSON. `_format` counts before Accept; without both, the answer to application/fhir+xml is XML.
 * What cannot be answered in any format is refused elsewhere, in JSON.
 */
export const xmlFormOf = (request: AnsweredRequest): XmlForm | undefined => {
  const { headers, url, body } = request
  const { accept, 'content-type': sent } = headers
  const mayNameFormat = (url.includes('?') && MAY_NAME_FORMAT.test(url)) || isForm(headers, body)
  if (!mayNameFormat && isPlain(accept) && (accept !== undefined || sent === undefined)) return undefined
  const parameters = parametersOf(request)
  // Parameters without a value are ignored.
  const named = parameters.getAll('_format').find((value) => value !== '')
  const wanted = named === undefined ? undefined : namedFormat(named)
  const isXml =
    wanted === undefined
      ? accept === undefined
        ? sent !== undefined && isFhirXmlType(sent)
        : acceptedFormat(accept) === 'xml'
      : wanted === 'xml'
  return isXml ? { pretty: parameters.get('_pretty') === 'true' } : undefined
}
