/** How texts are compared with the `filter` of $expand: without case and without marks above or below letters. */
export const toMatchText = (text: string): string => text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '')

/** True when the code or a word of its display begins with the filter; all of them are match texts. */
export const matchesText = (code: string, display: string, filter: string): boolean =>
  ` ${display}`.includes(` ${filter}`) || code.startsWith(filter)
