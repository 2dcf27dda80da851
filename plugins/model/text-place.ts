/** Where in a text something is, for messages: line and column, both from 1. */

export interface TextPlace {
  readonly line: number
  readonly column: number
}

export const placeAt = (text: string, at: number): TextPlace => {
  let line = 1
  let start = 0
  for (let feed = text.indexOf('\n'); feed !== -1 && feed < at; feed = text.indexOf('\n', start)) {
    line += 1
    start = feed + 1
  }
  return { line, column: at - start + 1 }
}
