/** Why TLS failed, in one short line from the errors of OpenSSL and Node. */
import { printable } from './printable.ts'

export const tlsReason = (error: NodeJS.ErrnoException & { readonly reason?: string }): string => {
  if (error.code === 'ECONNRESET') return 'it closed the connection'
  // `reason` is "tlsv1 alert unknown ca" where the message is a line of OpenSSL's own log. After ";" Node recommends
  // its trust store, which is not used here.
  const text = printable(error.reason ?? error.message.replace(/;.*$/s, ''))
  return error.code === undefined || text.includes(error.code) ? text : `${text} (${error.code})`
}
