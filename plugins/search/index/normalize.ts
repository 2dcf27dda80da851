/**
 * Text as string searches compare it: without case, accents, invisible marks and runs of white space.
 * https://hl7.org/fhir/R4/search.html#string
 */

const PLAIN = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/
/** Characters of a key; what is longer is kept whole beside it. */
export const KEY_CHARS = 100

/** What folding of case and marks leaves apart. A capital sigma has two small forms, one for the end of a word. */
const SPECIAL: Readonly<Record<string, string>> = { ς: 'σ', ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ł: 'l' }

/**
 * Without accents first: a compatible form such as that of ℌ may be a capital. Capitals, and then small letters of them,
 * make one of all forms of a letter, which small letters alone do not (ſ, ı, ß). https://www.unicode.org/faq/casemap_charprop.html
 */
export const normalize = (text: string): string => {
  if (PLAIN.test(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+/g, '')
    .replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]+/g, '')
    .toUpperCase()
    .toLowerCase()
    .replace(/[ςßæœøđł]/g, (one) => SPECIAL[one] as string)
    .replaceAll('\0', ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

/** The first characters, without half of a surrogate pair at the end. */
export const toPrefixKey = (folded: string): string => {
  if (folded.length <= KEY_CHARS) return folded
  const cut = folded.charCodeAt(KEY_CHARS - 1)
  return folded.slice(0, cut >= 0xd800 && cut < 0xdc00 ? KEY_CHARS - 1 : KEY_CHARS)
}
