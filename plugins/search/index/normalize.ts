/**
 * Normalizes text for string searches: case, accents, invisible characters and repeated white space do not count.
 * https://hl7.org/fhir/R4/search.html#string
 */

const PLAIN = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/
/** Most characters of a key. The whole of a longer text is stored in another column of the row. */
export const KEY_CHARS = 100

/**
 * Letters that the steps below do not make equal. A capital sigma has two small forms; one is used at the end of a
 * word.
 */
const SPECIAL: Readonly<Record<string, string>> = { ς: 'σ', ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ł: 'l' }

/**
 * NFKD comes first, because a compatible form such as ℌ may decompose to a capital. Upper case and then lower case
 * make all forms of a letter equal, which lower case alone does not (ſ, ı, ß).
 * https://www.unicode.org/faq/casemap_charprop.html
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

/** The first KEY_CHARS characters; one fewer if that would split a surrogate pair. */
export const toPrefixKey = (folded: string): string => {
  if (folded.length <= KEY_CHARS) return folded
  const cut = folded.charCodeAt(KEY_CHARS - 1)
  return folded.slice(0, cut >= 0xd800 && cut < 0xdc00 ? KEY_CHARS - 1 : KEY_CHARS)
}
