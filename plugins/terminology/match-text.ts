/** How texts are compared with the `filter` of $expand. */
import { normalize } from '../search/thread-service.ts'

/** Without case and without marks above or below letters, as string searches compare. White space is single blanks. */
export const toMatchText = normalize

/** Blanks in place of what is neither a letter nor a digit. */
const withoutMarks = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()

/**
 * What is searched of a display: its match text, with a blank in front of each word, and behind a line end the same without
 * punctuation, where that differs: "[Mass/volume]" has the words "[mass/volume]", "mass" and "volume".
 */
export const toSearchedText = (display: string): string => {
  const text = toMatchText(display)
  const plain = withoutMarks(text)
  return plain === text ? ` ${text}` : ` ${text}\n ${plain}`
}

/** The words of a filter; a filter without any is one empty word, which begins every code. */
export const wordsOf = (filter: string): readonly string[] => filter.split(' ')

/** The beginnings of which a text needs one, to have a word that begins with this one. */
export const formsOf = (word: string): readonly string[] => {
  const plain = withoutMarks(word)
  return plain === word || plain === '' ? [word] : [word, plain]
}

/**
 * True when each word of the filter begins the code or a word of its display, in any order, or the code begins with the
 * filter: "acut ast" finds "Acute asthma". `code` and `filter` are match texts, `searched` is the searched text of the display.
 * https://hl7.org/fhir/R4/valueset-operation-expand.html
 */
export const matchesText = (code: string, searched: string, filter: string): boolean =>
  wordsOf(filter).every((word) =>
    formsOf(word).some((form) => searched.includes(` ${form}`) || code.startsWith(form)),
  ) || code.startsWith(filter)
