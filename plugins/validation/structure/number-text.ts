/** A number together with the way it is spelled in the JSON text, for the rules that a parsed number cannot show. */
export class ParsedWithNumberText {
  readonly source: string

  constructor(source: string) {
    this.source = source
  }
}

/** A JSON number with a fraction of zeros or an exponent where an item or a member value can stand (or a string that looks like it). */
const SPELLED = /[:[,]\s*-?[0-9]+(?:\.0+|(?:\.[0-9]+)?[eE][+-]?[0-9]+)\s*[,\]}]/
const PLAIN = /^-?[0-9]+$/

/** Whether the text may hold a whole number that is spelled with a fraction or an exponent. */
export const mayHoldDecimalIntegers = (text: string): boolean => SPELLED.test(text)

/** Parses the text again with every number spelled with a fraction or an exponent as Written. */
export const parseWithNumberText = (text: string): unknown =>
  JSON.parse(text, (_key, value, context?: { source: string }) =>
    typeof value === 'number' && Number.isFinite(value) && context !== undefined && !PLAIN.test(context.source)
      ? new ParsedWithNumberText(context.source)
      : value,
  )
