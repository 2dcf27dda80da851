/** Whether a redirect URI is one that the client has registered. RFC 9700, section 2.1; RFC 8252, section 7.3 */
import type { ClientMetadata } from '../clients/client.ts'
import { isPort } from '../clients/uri-rules.ts'

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?(\/|\?|$)/

/**
 * Without the port of a loopback address, which a native app chooses when it starts. Undefined for other URIs, and for a
 * port that does not exist.
 */
const withoutPort = (uri: string): string | undefined => {
  const found = LOOPBACK.exec(uri)
  const port = found?.[2]
  return found === null || (port !== undefined && !isPort(port)) ? undefined : uri.replace(LOOPBACK, 'http://$1$3')
}

/** Compares as text. Only of the loopback address of a native app the port may differ. */
export const isRegisteredUri = ({ redirect_uris = [], application_type }: ClientMetadata, uri: string): boolean => {
  if (redirect_uris.includes(uri)) return true
  const asked = application_type === 'native' ? withoutPort(uri) : undefined
  return asked !== undefined && redirect_uris.some((one) => withoutPort(one) === asked)
}
