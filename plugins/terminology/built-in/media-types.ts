/** Media types of BCP 13: those that are registered, and others of the same form. https://www.rfc-editor.org/rfc/rfc6838 */
import { createRequire } from 'node:module'
import type { CodeSystem } from '../code-system.ts'
import { madeSystem } from './made-system.ts'

export const MEDIA_TYPES = 'urn:ietf:bcp:13'

const NAME = '[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}'
const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+"
/** https://www.rfc-editor.org/rfc/rfc2045#section-5.1 */
const FORM = new RegExp(`^(${NAME})/(${NAME})((?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[^"\\\\]*"))*)$`)

export const createMediaTypes = (): CodeSystem => {
  const types = Object.keys(createRequire(import.meta.url)('mime-db') as object)
  const families = new Set(types.map((type) => type.slice(0, type.indexOf('/'))))
  return madeSystem({
    url: MEDIA_TYPES,
    name: 'MediaTypes',
    isCaseSensitive: false,
    concepts: types.map((code) => ({ code })),
    build(code) {
      const [, family = '', subtype = '', parameters = ''] = FORM.exec(code) ?? []
      if (!families.has(family.toLowerCase())) return undefined
      return { code: `${family}/${subtype}`.toLowerCase() + parameters }
    },
  })
}
