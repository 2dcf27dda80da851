/** A name as messages show it: characters that move a cursor or change how text reads are written as `\\u{1b}`. */
export const printable = (name: string): string =>
  name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`)
