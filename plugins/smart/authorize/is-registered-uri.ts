/** Whether a redirect URI is one that the client has registered. RFC 9700, section 2.1; RFC 8252, section 7.3 */
import type { ClientMetadata } from '../clients/client.ts'

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::\d{1,5})?(\/|\?|$)/

/** Without the port of a loopback address, which a native app chooses when it starts. Other URIs are unchanged. */
const withoutPort = (uri: string): string => uri.replace(LOOPBACK, 'http://$1$2')

/** Compares as text. Only of the loopback address of a native app the port may differ. */
export const isRegisteredUri = ({ redirect_uris = [], application_type }: ClientMetadata, uri: string): boolean =>
  redirect_uris.includes(uri) ||
  (application_type === 'native' &&
    LOOPBACK.test(uri) &&
    redirect_uris.some((one) => LOOPBACK.test(one) && withoutPort(one) === withoutPort(uri)))
