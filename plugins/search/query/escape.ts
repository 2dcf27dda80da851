/** Separators inside values, and their escapes `\,` `\$` `\|` `\\`. https://hl7.org/fhir/R4/search.html#escaping */

/** Parts between unescaped separators; escapes stay for the next level. */
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

/** The value itself. A backslash before anything else stands for itself. */
export const unescapeValue = (text: string): string => (text.includes('\\') ? text.replace(/\\([,$|\\])/g, '$1') : text)
