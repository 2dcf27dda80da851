/**
 * HTML with a tagged template: text that is inserted is escaped, unless it is HTML made by this template. Attributes
 * stand in double quotes. The template makes no URLs safe: `javascript:` is refused where a URL comes from outside.
 */

class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type { Html }

/** `undefined` and `false` insert nothing; a list inserts its members one after the other. */
export type Part = string | number | Html | undefined | false | readonly Part[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string): string =>
  text.toWellFormed().replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string)

const written = (part: Part): string => {
  if (part === undefined || part === false) return ''
  if (part instanceof Html) return part.text
  return typeof part === 'object' ? part.map(written).join('') : escaped(String(part))
}

export const html = (texts: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(texts.map((text, at) => text + written(parts[at])).join(''))

/** For text of this program that is HTML or CSS already. Never for text from outside. */
export const trusted = (text: string): Html => new Html(text)
