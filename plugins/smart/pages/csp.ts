/** The Content-Security-Policy of the pages: no scripts, no images, no frames, one style sheet. */
import { STYLE_HASH } from './style.ts'

const LOOPBACK = 'http://localhost:* http://127.0.0.1:*'

/**
 * What `form-action` has to allow for a redirect to this URL. Chromium checks each redirect behind a form, also those
 * that the app makes after its callback, or the provider inside its login. Their hosts are not known here, so an app
 * on https may be followed by any https URL.
 */
const allowed = (target: string): string => {
  if (!URL.canParse(target)) return ''
  const { protocol, hostname } = new URL(target)
  if (protocol === 'https:') return 'https:'
  if (protocol !== 'http:') return protocol
  // A host source cannot be an IPv6 address.
  return hostname === 'localhost' || hostname === '127.0.0.1' ? LOOPBACK : 'http:'
}

export const csp = (...targets: readonly (string | undefined)[]): string => {
  const sources = ["'self'", ...targets.map((target) => (target === undefined ? '' : allowed(target)))]
  return [
    "default-src 'none'",
    `style-src '${STYLE_HASH}'`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    `form-action ${[...new Set(sources)].filter((source) => source !== '').join(' ')}`,
  ].join('; ')
}
