/**
 * Escapes a name for messages: control and format characters, which may move the cursor or turn the direction of text, are written
 * as their code points, such as `\u{1b}`.
 */
export const printable = (name: string): string =>
  name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`)
