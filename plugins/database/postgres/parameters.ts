/**
 * Reads a PostgreSQL connection string into parameters, letter for letter as libpq does: `postgresql://` and
 * `postgres://` URLs, and `key=value` pairs. Unlike libpq, a parameter given twice is an error.
 * https://www.postgresql.org/docs/17/libpq-connect.html#LIBPQ-CONNSTRING
 *
 * A message names the parameter or the place, never a value: a stray piece of the string may be a piece of a password.
 */
import { ParameterTwice, StringSyntax } from './errors.ts'

export type Parameters = ReadonlyMap<string, string>

const SCHEME = /^postgres(?:ql)?:\/\//
const SPACE = /[ \t\n\v\f\r]/ // isspace() of the C locale
const NAME = /^[a-z][a-z0-9_]{0,39}$/

/** Name → value, in the order given. Throws StringSyntax or ParameterTwice. */
export const readParameters = (text: string): Parameters => {
  const parameters = new Map<string, string>()
  const store = (name: string, value: string, position: number): void => {
    // An invalid name is not repeated: in `password=two words=…` it would be a part of the password.
    if (!NAME.test(name)) throw StringSyntax(`the word at character ${position + 1} is not the name of a parameter`)
    if (parameters.has(name)) throw ParameterTwice(name)
    parameters.set(name, value)
  }
  const scheme = SCHEME.exec(text)
  if (scheme === null) readPairs(text, store)
  else readUrl(text, scheme[0].length, store)
  return parameters
}

type Store = (name: string, value: string, position: number) => void

/** `host=db.test password='it''s'`: blanks around `=`, single quotes, backslash escapes. */
const readPairs = (text: string, store: Store): void => {
  let at = 0
  const skipSpace = (): void => {
    while (at < text.length && SPACE.test(text[at]!)) at += 1
  }
  for (skipSpace(); at < text.length; skipSpace()) {
    const start = at
    while (at < text.length && text[at] !== '=' && !SPACE.test(text[at]!)) at += 1
    const name = text.slice(start, at)
    skipSpace()
    if (text[at] !== '=') throw StringSyntax(`there is no "=" after the word at character ${start + 1}`)
    at += 1
    skipSpace()
    store(name, readValue(), start)
  }

  function readValue(): string {
    const opened = at
    const quoted = text[at] === "'"
    if (quoted) at += 1
    let value = ''
    for (; at < text.length; at += 1) {
      const letter = text[at]!
      if (quoted ? letter === "'" : SPACE.test(letter)) break
      if (letter === '\\') {
        at += 1
        value += text[at] ?? ''
      } else value += letter
    }
    if (!quoted) return value
    if (at >= text.length) throw StringSyntax(`the quote at character ${opened + 1} is not closed`)
    at += 1
    return value
  }
}

/** `postgresql://[user[:password]@][host[:port],…][/dbname][?name=value&…]` */
const readUrl = (text: string, start: number, store: Store): void => {
  const until = (stops: string, from: number): number => {
    let at = from
    while (at < text.length && !stops.includes(text[at]!)) at += 1
    return at
  }
  const keep = (name: string, raw: string, position: number): void => {
    if (raw !== '') store(name, decode(raw, name), position)
  }
  let at = until('@/', start)
  if (text[at] === '@') {
    const colon = until(':@', start)
    keep('user', text.slice(start, colon), start)
    if (text[colon] === ':') keep('password', text.slice(colon + 1, at), colon)
    at += 1
  } else at = start

  const hosts: string[] = []
  const ports: string[] = []
  for (;;) {
    let end: number
    if (text[at] === '[') {
      const close = until(']', at)
      if (close === text.length) throw StringSyntax(`the "[" at character ${at + 1} is not closed`)
      if (close === at + 1) throw StringSyntax(`the IPv6 address at character ${at + 1} is empty`)
      hosts.push(text.slice(at + 1, close))
      end = close + 1
      if (end < text.length && !':/?,'.includes(text[end]!))
        throw StringSyntax(`after "]" at character ${close + 1} comes neither ":" nor "/"`)
    } else {
      end = until(':/?,', at)
      hosts.push(text.slice(at, end))
    }
    let port = ''
    if (text[end] === ':') {
      at = end + 1
      end = until('/?,', at)
      port = text.slice(at, end)
    }
    ports.push(port)
    at = end
    if (text[at] !== ',') break
    at += 1
  }
  keep('host', hosts.join(','), start)
  keep('port', ports.join(','), start)
  if (text[at] === '/') {
    const end = until('?', at)
    keep('dbname', text.slice(at + 1, end), at)
    at = end
  }
  if (text[at] === '?') readQuery(text, at + 1, store)
}

const readQuery = (text: string, start: number, store: Store): void => {
  let at = start
  while (at < text.length) {
    const end = text.indexOf('&', at) === -1 ? text.length : text.indexOf('&', at)
    const [name, value, more] = text.slice(at, end).split('=')
    if (value === undefined) throw StringSyntax(`the parameter at character ${at + 1} has no "="`)
    if (more !== undefined) throw StringSyntax(`the parameter at character ${at + 1} has a second "="`)
    const decoded = decode(name!, 'a parameter name')
    // libpq accepts this spelling of JDBC.
    if (decoded === 'ssl' && decode(value, 'ssl') === 'true') store('sslmode', 'require', at)
    else store(decoded, decode(value, NAME.test(decoded) ? decoded : 'a parameter'), at)
    at = end + 1
  }
}

/** Percent-decoding as libpq 17 does it: `+` stays a plus and an unencoded blank stays a blank. */
const decode = (text: string, what: string): string => {
  if (/%(?![0-9A-Fa-f]{2})/.test(text))
    throw StringSyntax(`the value of ${what} holds a "%" that encodes nothing; write %25`)
  if (text.includes('%00')) throw StringSyntax(`the value of ${what} holds %00`)
  try {
    return decodeURIComponent(text)
  } catch {
    throw StringSyntax(`the percent-encoding of ${what} is not UTF-8`)
  }
}
