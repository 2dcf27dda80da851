/** Cleans text of a server that may not be ours for one line of a message: no control characters, limited length. */
const MAX_CHARACTERS = 300

export const printable = (text: string): string => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is for
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim()
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line
}
