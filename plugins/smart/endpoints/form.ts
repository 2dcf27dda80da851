/** Parses forms and queries. A parameter without a value counts as left out. RFC 6749, appendix B and section 3.2 */

import { isUtf8 } from 'node:buffer'
import { decodeFormText } from '../decode-form-text.ts'
import { InvalidRequest } from '../oauth-errors.ts'

export type Form = ReadonlyMap<string, string>

export interface Parameters {
  /** The first value of each parameter that has one. */
  readonly form: Form
  /** All values of each parameter, empty ones too, in their order. */
  readonly all: ReadonlyMap<string, readonly string[]>
  /** True when a parameter is given more than once. */
  readonly isRepeated: boolean
  /** True when a name or value holds U+0000, which no database stores and no client has a use for. */
  readonly holdsNul: boolean
}

/** Undefined when the bytes are not UTF-8, or hold a broken escape. */
export const readParameters = (bytes: Buffer): Parameters | undefined => {
  if (!isUtf8(bytes)) return undefined
  const all = new Map<string, string[]>()
  for (const pair of bytes.toString('utf8').split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decodeFormText(at === -1 ? pair : pair.slice(0, at))
    const value = at === -1 ? '' : decodeFormText(pair.slice(at + 1))
    if (name === undefined || value === undefined) return undefined
    all.set(name, [...(all.get(name) ?? []), value])
  }
  const form = new Map<string, string>()
  for (const [name, values] of all) {
    const value = values.find((one) => one !== '')
    if (value !== undefined) form.set(name, value)
  }
  const holdsNul = [...all].flat(2).some((text) => text.includes('\0'))
  return { form, all, isRepeated: [...all.values()].some(({ length }) => length > 1), holdsNul }
}

/** Throws `InvalidRequest` when the bytes are not UTF-8, hold U+0000, and when a parameter is given twice. */
export const readForm = (bytes: Buffer): Form => {
  const parameters = readParameters(bytes)
  if (parameters === undefined) throw InvalidRequest('the body is not a form in UTF-8')
  if (parameters.isRepeated) throw InvalidRequest('a parameter is given twice')
  if (parameters.holdsNul) throw InvalidRequest('a parameter holds the character U+0000')
  return parameters.form
}
