/** Language tags of BCP 47, from the registry of their subtags. https://www.rfc-editor.org/rfc/rfc5646 */
import { createRequire } from 'node:module'
import type { CodeSystem } from '../code-system.ts'
import { madeSystem } from './made-system.ts'

export const LANGUAGES = 'urn:ietf:bcp:47'

interface Subtag {
  type(): string
  descriptions(): readonly string[]
}
interface Tag {
  errors(): readonly { readonly code: number }[]
  descriptions(): readonly string[]
  subtags(): readonly Subtag[]
  format(): string
}

/** Each part has at most eight characters, and a single one, such as u or x, begins an extension. */
const FORM = /^(?:[a-z]{2,8}|[xi](?=-))(?:-[a-z0-9]{2,8})*(?:-[a-z0-9](?:-[a-z0-9]{1,8})+)*$/i
/** For private use, and not in the registry. */
const PRIVATE_LANGUAGE = /^q[a-t][a-z](?=-|$)/i

// Errors of the library.
const DEPRECATED: ReadonlySet<number> = new Set([1, 11])
const DUPLICATE_VARIANT = 8
/** The script is the usual one of the language: allowed, and not recommended. */
const SUPPRESS_SCRIPT = 10

const hasTwice = (tag: string): boolean => {
  const variants =
    tag
      .toLowerCase()
      .split(/-[a-z0-9]-/)[0]
      ?.split('-')
      .filter((part) => part.length > 3) ?? []
  return new Set(variants).size < variants.length
}

const displayOf = (tag: Tag): string | undefined => {
  const [whole] = tag.descriptions()
  if (whole !== undefined) return whole
  const [first, ...others] = tag.subtags().map((one) => one.descriptions()[0] ?? '')
  return first === undefined ? undefined : others.length === 0 ? first : `${first} (${others.join(', ')})`
}

export const createLanguages = (): CodeSystem => {
  const { default: readTag } = createRequire(import.meta.url)('language-tags') as { default: (tag: string) => Tag }
  return madeSystem({
    url: LANGUAGES,
    name: 'LanguageTags',
    isCaseSensitive: false,
    property: [{ code: 'inactive', type: 'boolean', uri: 'http://hl7.org/fhir/concept-properties#inactive' }],
    concepts: [],
    build(code) {
      if (!FORM.test(code)) return undefined
      if (/^x-/i.test(code)) return { code: code.toLowerCase() }
      const isPrivate = PRIVATE_LANGUAGE.test(code)
      const tag = readTag(code.replace(PRIVATE_LANGUAGE, 'und'))
      const faults = tag.errors().map((error) => error.code)
      const isAccepted = (fault: number): boolean =>
        DEPRECATED.has(fault) || fault === SUPPRESS_SCRIPT || (fault === DUPLICATE_VARIANT && !hasTwice(code))
      if (!faults.every(isAccepted)) return undefined
      const display = isPrivate ? undefined : displayOf(tag)
      return {
        code: isPrivate ? code : tag.format(),
        ...(display !== undefined && { display }),
        ...(faults.some((fault) => DEPRECATED.has(fault)) && { property: [{ code: 'inactive', valueBoolean: true }] }),
      }
    },
  })
}
