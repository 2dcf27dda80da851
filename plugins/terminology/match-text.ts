/** How texts are compared with the `filter` of $expand: without case and without marks above or below letters. */
export const toMatchText = (text: string): string => text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '')

/** The words of a filter; a filter without any is one empty word, which begins every code. */
export const wordsOf = (filter: string): readonly string[] => filter.trim().split(/\s+/)

/**
 * True when each word of the filter begins the code or a word of its display, in any order, or the code begins with the
 * filter: "acut ast" finds "Acute asthma". All of them are match texts.
 * https://hl7.org/fhir/R4/valueset-operation-expand.html
 */
export const matchesText = (code: string, display: string, filter: string): boolean =>
  wordsOf(filter).every((word) => ` ${display}`.includes(` ${word}`) || code.startsWith(word)) ||
  code.startsWith(filter)
