/** Whether a request asks for a page: by `_format`, else by Accept. RFC 9110, section 12.5.1. */

const JSON_ACCEPT = 'application/fhir+json, application/json;q=0.9'
const HTML_TYPES: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml'])
const FORMATS: ReadonlySet<string> = new Set(['html', 'text/html'])
/** Java's HttpURLConnection sends this by itself: it is no browser. */
const JAVA = /^text\/html, ?image\/gif, ?image\/jpeg, ?\*/
/** Browsers list these beside pages, for what they show otherwise. */
const NOT_DATA = /^(?:image|audio|video)\/|^(?:application|text)\/xml$|^application\/signed-exchange$/
const CONTENT = /\/Binary\/[^/?]+(?:\/_history\/[^/?]+)?\/?(?:\?|$)/

interface Range {
  readonly type: string
  readonly weight: number
}

const rangeOf = (part: string): Range => {
  const [type = '', ...parameters] = part.split(';')
  const weight = parameters.map((one) => /^\s*q\s*=\s*([\d.]+)\s*$/i.exec(one)?.[1]).find((one) => one !== undefined)
  return { type: type.trim().toLowerCase(), weight: weight === undefined ? 1 : Number(weight) || 0 }
}

/** True where a page is named with a weight that no form of data reaches before it. */
export const prefersHtml = (accept: string): boolean => {
  if (JAVA.test(accept)) return false
  const ranges = accept.split(',').map(rangeOf)
  const page = ranges.filter(({ type }) => HTML_TYPES.has(type))
  const most = Math.max(0, ...page.map(({ weight }) => weight))
  const first = ranges.findIndex(({ type, weight }) => HTML_TYPES.has(type) && weight === most)
  return (
    most > 0 &&
    ranges.every(
      ({ type, weight }, at) =>
        HTML_TYPES.has(type) || NOT_DATA.test(type) || weight < most || (weight === most && at > first),
    )
  )
}

/** The values of `_format` in the query, undecoded names left out. Empty ones are ignored. */
const formatsIn = (query: string): readonly string[] =>
  new URLSearchParams(query).getAll('_format').filter((value) => value !== '')

const withoutFormat = (url: string, start: number): string => {
  const kept = url
    .slice(start + 1)
    .split('&')
    .filter((pair) => !/^_format(?:=|$)/.test(pair))
  return kept.length === 0 ? url.slice(0, start) : `${url.slice(0, start)}?${kept.join('&')}`
}

/**
 * The URL and Accept of the same request for JSON, where a page is asked for. The content of a Binary is shown as a page
 * with `_format` only: browsers download it.
 */
export const askForData = (
  url: string,
  accept: string | undefined,
): { readonly url: string; readonly accept: string } | undefined => {
  const start = url.indexOf('_format=') === -1 ? -1 : url.indexOf('?')
  const formats = start === -1 ? [] : formatsIn(url.slice(start + 1))
  if (formats.length > 0) {
    const isPage = formats.length === 1 && FORMATS.has((formats[0] as string).trim().toLowerCase())
    return isPage ? { url: withoutFormat(url, start), accept: JSON_ACCEPT } : undefined
  }
  if (accept === undefined || !/html/i.test(accept) || !prefersHtml(accept) || CONTENT.test(url)) return undefined
  return { url, accept: JSON_ACCEPT }
}
