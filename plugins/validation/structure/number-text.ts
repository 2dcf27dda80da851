/**
 * Stands for a number that JSON text spells with a fraction or an exponent. R4 forbids 1.0 for an integer, but a parsed number
 * does not show its spelling.
 */
export class ParsedWithNumberText {
  readonly source: string

  constructor(source: string) {
    this.source = source
  }
}

/**
 * Matches an item or member value that is a number with an exponent or with a fraction of zeros. It may also match inside of a
 * string: then the text is only parsed again in vain.
 */
const SPELLED = /[:[,]\s*-?[0-9]+(?:\.0+|(?:\.[0-9]+)?[eE][+-]?[0-9]+)\s*[,\]}]/
const PLAIN = /^-?[0-9]+$/

/** Whether the text may have a whole number that is spelled with a fraction or an exponent. */
export const mayHoldDecimalIntegers = (text: string): boolean => SPELLED.test(text)

/** Parses JSON text; each number that is spelled with a fraction or an exponent becomes a ParsedWithNumberText. */
export const parseWithNumberText = (text: string): unknown =>
  JSON.parse(text, (_key, value, context?: { source: string }) =>
    typeof value === 'number' && Number.isFinite(value) && context !== undefined && !PLAIN.test(context.source)
      ? new ParsedWithNumberText(context.source)
      : value,
  )
