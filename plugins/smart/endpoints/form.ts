/** Parses the body of a form. A parameter without a value counts as left out. RFC 6749, appendix B and section 3.2 */
import { isUtf8 } from 'node:buffer'
import { InvalidRequest } from '../oauth-errors.ts'

export type Form = ReadonlyMap<string, string>

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw InvalidRequest('the body is not a form in UTF-8')
  }
}

/** Throws `InvalidRequest` when the bytes are not UTF-8, and when a parameter is given twice. */
export const readForm = (bytes: Buffer): Form => {
  if (!isUtf8(bytes)) throw InvalidRequest('the body is not a form in UTF-8')
  const form = new Map<string, string>()
  const seen = new Set<string>()
  for (const pair of bytes.toString('utf8').split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decoded(at === -1 ? pair : pair.slice(0, at))
    const value = at === -1 ? '' : decoded(pair.slice(at + 1))
    if (seen.has(name)) throw InvalidRequest('a parameter is given twice')
    seen.add(name)
    if (value !== '') form.set(name, value)
  }
  return form
}
