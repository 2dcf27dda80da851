/** Text in XML: what has to be escaped, and which characters XML cannot hold. https://www.w3.org/TR/xml/#charsets */

export const FHIR_NAMESPACE = 'http://hl7.org/fhir'
export const XHTML_NAMESPACE = 'http://www.w3.org/1999/xhtml'

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML 1.0 cannot hold
const NO_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same, and what is escaped
const SPECIAL = /[\u0000-\u001f&<"\ufffe\uffff]/
/** Line ends and tabs are escaped, because a parser makes spaces of those in an attribute. */
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
}

/** The code of the first character that XML cannot hold, such as U+0001; undefined where there is none. */
export const unwritableIn = (text: string): string | undefined => {
  const found = NO_CHARACTER.exec(text)?.[0]
  return found && `U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** The value of an attribute between double quotes. `refuse` is called with a character that XML cannot hold. */
export const escapeAttribute = (text: string, refuse: (character: string) => never): string => {
  if (!SPECIAL.test(text)) return text
  const unwritable = unwritableIn(text)
  return unwritable === undefined ? text.replace(/[&<"\t\n\r]/g, (one) => ESCAPES[one] as string) : refuse(unwritable)
}

export const escapeText = (text: string): string => text.replace(/[&<>\r]/g, (one) => ESCAPES[one] as string)
export const isBlank = (text: string): boolean => /^[ \t\r\n]*$/.test(text)
