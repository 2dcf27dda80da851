/** The origin of a web page, as browsers send it. https://html.spec.whatwg.org/multipage/browsers.html#ascii-serialisation-of-an-origin */

/**
 * `https://app.example.org/callback` → `https://app.example.org`; undefined for a URI that is neither http nor https,
 * such as `app:/callback`.
 */
export const originOf = (uri: string): string | undefined => {
  if (!URL.canParse(uri)) return undefined
  const { protocol, origin } = new URL(uri)
  return protocol === 'https:' || protocol === 'http:' ? origin : undefined
}
