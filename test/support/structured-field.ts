/** Parses an Item of a structured field: a string or integer, with integer parameters. RFC 9651, section 4.2.3. */

export interface Item {
  readonly value: string | number
  readonly parameters: Readonly<Record<string, number>>
}

const INTEGER = '-?\\d{1,15}'
const ITEM = new RegExp(
  `^(?:"((?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\["\\\\])*)"|(${INTEGER}))((?:; *[a-z*][a-z0-9_.*-]*=${INTEGER})*)$`,
)

/** Throws for a malformed text. */
export const readItem = (text: string): Item => {
  const found = ITEM.exec(text)
  if (found === null) throw new Error(`not a structured field: ${text}`)
  const [, string, integer, parameters = ''] = found
  return {
    value: string === undefined ? Number(integer) : string.replace(/\\(.)/g, '$1'),
    parameters: Object.fromEntries(
      parameters
        .split(';')
        .slice(1)
        .map((one) => one.trim().split('='))
        .map(([key, value]) => [key, Number(value)]),
    ),
  }
}
