/** Why TLS failed, from what OpenSSL and Node say, in one short line. */
import { printable } from './printable.ts'

export const tlsReason = (error: NodeJS.ErrnoException & { readonly reason?: string }): string => {
  if (error.code === 'ECONNRESET') return 'it closed the connection'
  // `reason` is "tlsv1 alert unknown ca" where the message is a line of OpenSSL's own log. After ";" Node advises to use
  // a trust store, which there is not.
  const text = printable(error.reason ?? error.message.replace(/;.*$/s, ''))
  return error.code === undefined || text.includes(error.code) ? text : `${text} (${error.code})`
}
