/** JSON with colours and links. All text is escaped by the template; links are made of text that was recognised. */
import { decimalText } from '../model/service.ts'
import { type Links, webUrl } from './links.ts'
import { type Html, html, type Part } from './markup/html.ts'

const MAX_DEPTH = 100 // levels
const MAX_PARTS = 20_000 // values and names that are shown; a page of more is of no use, and takes long to build

const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && decimalText(value) === undefined

/** Members with canonical URLs, and the type they name. https://hl7.org/fhir/R4/references.html#canonical */
const CANONICALS: Readonly<Record<string, string>> = {
  profile: 'StructureDefinition',
  targetProfile: 'StructureDefinition',
  supportedProfile: 'StructureDefinition',
  baseDefinition: 'StructureDefinition',
  questionnaire: 'Questionnaire',
  derivedFrom: 'Questionnaire',
  valueSet: 'ValueSet',
  answerValueSet: 'ValueSet',
  instantiates: 'CapabilityStatement',
  definition: 'SearchParameter',
}

const canonicalHref = (name: string, text: string, { to }: Links): string | undefined => {
  const type = CANONICALS[name]
  if (type === undefined || webUrl(text) === undefined) return undefined
  const [url = '', version] = text.split('|')
  return to(`${type}?url=${encodeURIComponent(url)}${version ? `&version=${encodeURIComponent(version)}` : ''}`)
}

const linked = (name: string, text: string, shown: string, links: Links): Part => {
  const own =
    (name === 'reference' ? links.ofReference(text) : undefined) ??
    links.ofUrl(text) ??
    canonicalHref(name, text, links)
  if (own !== undefined) return html`<a href="${own}">${shown}</a>`
  const away = webUrl(text)
  return away === undefined ? shown : html`<a href="${away}" rel="noreferrer noopener nofollow">${shown}</a>`
}

export interface JsonView {
  readonly view: Html
  /** False where the rest was left out. */
  readonly isWhole: boolean
}

/** `value` is parsed JSON, with numbers that keep their digits. */
export const viewJson = (value: unknown, links: Links): JsonView => {
  let left = MAX_PARTS
  const write = (one: unknown, name: string, indent: string): Part => {
    left -= 1
    if (left < 0 || indent.length > MAX_DEPTH * 2) return '…'
    if (typeof one === 'string')
      return html`<span class="s">"${linked(name, one, JSON.stringify(one).slice(1, -1), links)}"</span>`
    if (!isContainer(one)) {
      const text = decimalText(one) ?? JSON.stringify(one)
      return html`<span class="${/^[-\d]/.test(text) ? 'n' : 'w'}">${text}</span>`
    }
    const inner = `${indent}  `
    const isList = Array.isArray(one)
    const items: readonly (readonly [string, unknown])[] = isList
      ? one.map((item) => [name, item] as const)
      : Object.entries(one)
    const [open, close] = isList ? ['[', ']'] : ['{', '}']
    if (items.length === 0) return `${open}${close}`
    const shown: Part[] = []
    for (const [at, [key, item]] of items.entries()) {
      if (left < 0) break
      const label: Part = isList ? undefined : html`<span class="k">${JSON.stringify(key)}</span>: `
      shown.push(html`\n${inner}${label}${write(item, key, inner)}${at < items.length - 1 && ','}`)
    }
    return html`${open}${shown}\n${indent}${close}`
  }
  const view = html`<pre tabindex="0" aria-label="JSON">${write(value, '', '')}</pre>`
  return { view, isWhole: left >= 0 }
}
