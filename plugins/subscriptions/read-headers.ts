/** Reads the lines of Subscription.channel.header: `Authorization: Bearer x`. RFC 9110, sections 5.1, 5.5 and 7.6.1. */

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/
const VALUE = /^[\x20-\x7e\t]{0,4096}$/
const MAX_HEADERS = 32
/** Headers of the connection or of the message, and those that the server sets. */
const TAKEN = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'host', 'content-length', 'content-type', 'content-encoding', 'expect', 'via'],
  ...['forwarded', 'date', 'accept-encoding', 'x-event-number', 'x-subscription'],
])

export type SentHeaders = Readonly<Record<string, readonly string[]>>

/** Throws the reason as an Error that names the header but not its value. */
export const readHeaders = (lines: readonly unknown[], refuse: (why: string) => Error): SentHeaders => {
  if (lines.length > MAX_HEADERS) throw refuse(`channel.header has more than ${MAX_HEADERS} lines`)
  const headers = new Map<string, string[]>()
  for (const [at, line] of lines.entries()) {
    const where = `channel.header[${at}]`
    const colon = typeof line === 'string' ? line.indexOf(':') : -1
    if (typeof line !== 'string' || colon < 1) throw refuse(`${where} is not a line such as Authorization: Bearer x`)
    const name = line.slice(0, colon)
    const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')
    if (!NAME.test(name)) throw refuse(`${where} has a name that no HTTP header has`)
    if (!VALUE.test(value))
      throw refuse(`${where} has a value with other characters than printable ASCII, or a long one`)
    const key = name.toLowerCase()
    if (TAKEN.has(key) || key.startsWith('x-forwarded-'))
      throw refuse(`${where} sets ${key}, which belongs to the connection or to the server`)
    headers.set(key, [...(headers.get(key) ?? []), value])
  }
  // Names such as __proto__ are legal, and must not be those of an object's prototype.
  return Object.assign(Object.create(null), Object.fromEntries(headers))
}
