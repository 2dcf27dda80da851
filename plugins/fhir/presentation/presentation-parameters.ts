/**
 * Query parameters that choose the form of an answer (`_format`, `_pretty`, `_summary`, `_elements`), other parameters
 * that a request allows, and the header Prefer.
 */
import { QueryParameterUnknown, QueryParameterValue } from '../../search/service.ts'

export type SummaryMode = 'true' | 'text' | 'data' | 'count' | 'false'
const SUMMARIES = new Set<string>(['true', 'text', 'data', 'count', 'false'])

/** How to show a resource. Without any of these parameters the stored bytes are sent as they are. */
export interface Presentation {
  readonly format?: string | undefined
  readonly pretty: boolean
  readonly summary?: SummaryMode | undefined
  readonly elements?: readonly string[] | undefined
}

export const AS_STORED: Presentation = Object.freeze({ pretty: false })

const PRESENTATION = ['_format', '_pretty', '_summary', '_elements']

export interface QueryParameters {
  readonly presentation: Presentation
  /** The other parameters, one value each. */
  readonly values: ReadonlyMap<string, string>
}

const NO_QUERY: QueryParameters = Object.freeze({ presentation: AS_STORED, values: new Map<string, string>() })

const readPretty = (value: string | undefined): boolean => {
  if (value === undefined || value === 'false') return false
  if (value === 'true') return true
  throw QueryParameterValue('_pretty', 'true or false')
}

const readSummary = (value: string | undefined): SummaryMode | undefined => {
  if (value === undefined || value === 'false') return undefined
  if (!SUMMARIES.has(value)) throw QueryParameterValue('_summary', 'true, text, data, count or false')
  return value as SummaryMode
}

const readElements = (value: string | undefined): readonly string[] | undefined => {
  if (value === undefined) return undefined
  const elements = value.split(',').map((one) => one.trim())
  if (elements.some((one) => !/^([A-Z][A-Za-z]*\.)?[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)*$/.test(one)))
    throw QueryParameterValue('_elements', 'names of elements, separated by commas')
  return elements
}

/** Throws 400. */
export const toPresentation = (values: ReadonlyMap<string, string>): Presentation => ({
  format: values.get('_format'),
  pretty: readPretty(values.get('_pretty')),
  summary: readSummary(values.get('_summary')),
  elements: readElements(values.get('_elements')),
})

const HIGH_BYTE = /%[89A-Fa-f]|[\ud800-\udfff]/
const LONE_PERCENT = /%(?![0-9A-Fa-f]{2})/g

/** True when the percent-encoded bytes are valid UTF-8. */
const isDecodable = (text: string): boolean => {
  if (!HIGH_BYTE.test(text)) return true
  // A percent sign without two hexadecimal digits is taken literally, as URLSearchParams does.
  try {
    return decodeURIComponent(text.replace(LONE_PERCENT, '%25')).isWellFormed()
  } catch {
    return false
  }
}

/**
 * Names and values of a query or a form. Throws 400 for text that URLSearchParams would change: it replaces bytes that
 * are not UTF-8 by U+FFFD. Also throws 400 for NUL characters.
 */
export const readPairs = (text: string): readonly (readonly [string, string])[] => {
  if (!isDecodable(text)) throw QueryParameterValue('in the query', 'UTF-8')
  const pairs = [...new URLSearchParams(text)]
  if (text.includes('%00') || text.includes('\0'))
    for (const [name, value] of pairs)
      if (name.includes('\0') || value.includes('\0')) throw QueryParameterValue('in the query', 'no NUL character')
  return pairs
}

/**
 * Reads the query of a request that is no search: an unknown parameter is refused, or ignored with
 * `Prefer: handling=lenient`. https://hl7.org/fhir/R4/search.html#errors
 */
export const readQueryParameters = (url: string, known: readonly string[], lenient: boolean): QueryParameters => {
  const start = url.indexOf('?')
  if (start === -1 || start === url.length - 1) return NO_QUERY
  const values = new Map<string, string>()
  for (const [name, value] of readPairs(url.slice(start + 1))) {
    if (name === '_format' && value === '') continue // as in a search, whose form may send empty fields
    if (!PRESENTATION.includes(name) && !known.includes(name)) {
      if (lenient) continue
      throw QueryParameterUnknown(name.slice(0, 64), [...known, ...PRESENTATION].join(', '))
    }
    if (values.has(name)) throw QueryParameterValue(name, 'one value; it is given twice')
    values.set(name, value)
  }
  return { presentation: toPresentation(values), values }
}

/** `Prefer: handling=lenient; return=minimal`. RFC 7240. */
export interface Prefer {
  readonly lenient: boolean
  readonly return: 'minimal' | 'representation' | 'OperationOutcome'
}

const NO_PREFERENCE: Prefer = Object.freeze({ lenient: false, return: 'representation' })

export const readPrefer = (header: string | string[] | undefined): Prefer => {
  if (header === undefined) return NO_PREFERENCE
  const text = Array.isArray(header) ? header.join(',') : header
  const wanted = /(?:^|[;,\s])return\s*=\s*"?(minimal|representation|OperationOutcome)"?/i.exec(text)?.[1]
  // A preference that is given twice has the value of its first instance. RFC 7240, section 2.
  const handling = /(?:^|[;,\s])handling\s*=\s*"?(\w+)/i.exec(text)?.[1]
  return {
    lenient: handling?.toLowerCase() === 'lenient',
    return:
      wanted === undefined
        ? 'representation'
        : wanted.toLowerCase() === 'operationoutcome'
          ? 'OperationOutcome'
          : (wanted.toLowerCase() as 'minimal'),
  }
}
