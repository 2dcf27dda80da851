/** Masks passwords inside ordinary settings: `postgresql://user:password@host/db`, `host=… password=…`. */

export const MASK = '[secret]'

// https://www.postgresql.org/docs/17/libpq-connect.html: key = value or key = 'quoted \' value'
const PAIR = /(\b(?:password|sslpassword)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&'"]+)/gi
// The user and password of a URL: up to the last @ before the path, as WHATWG URL parsers take it.
const USERINFO = /([a-z][a-z0-9+.-]*:\/\/[^/?#\s:]*:)([^/?#\s]*)(@)/gi

/** The value with the passwords in its texts replaced by `[secret]`. */
export const withoutPasswords = (value: unknown): unknown => {
  if (typeof value === 'string') return value.replace(USERINFO, `$1${MASK}$3`).replace(PAIR, `$1${MASK}`)
  if (Array.isArray(value)) return value.map(withoutPasswords)
  return value
}

const decodedURIComponent = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The passwords in the value's texts, as written and as decoded. */
export const passwordsIn = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(passwordsIn)
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(passwordsIn)
  if (typeof value !== 'string') return []
  const found = [...value.matchAll(USERINFO), ...value.matchAll(PAIR)]
    .map((match) => match[2]!)
    .filter((text) => text !== '')
  return found.flatMap((text) => {
    const bare = text.startsWith("'") && text.endsWith("'") ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text
    return [...new Set([bare, decodedURIComponent(bare)])]
  })
}
