/**
 * Splits values at separators and resolves the escapes `\,` `\$` `\|` `\\`.
 * https://hl7.org/fhir/R4/search.html#escaping
 */

/** The parts between unescaped separators. Escapes stay in the parts, which may be split at another separator. */
export const splitEscaped = (text: string, separator: ',' | '$' | '|'): readonly string[] => {
  if (!text.includes(separator)) return [text]
  const parts: string[] = []
  let start = 0
  for (let at = 0; at < text.length; at += 1) {
    const one = text.charAt(at)
    if (one === '\\') at += 1
    else if (one === separator) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}

/** Resolves the escapes. A backslash before any other character stands for itself. */
export const unescapeValue = (text: string): string => (text.includes('\\') ? text.replace(/\\([,$|\\])/g, '$1') : text)
