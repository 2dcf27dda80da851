/** JSON that is no resource, such as that of /_usage: a table where it is a list of rows. */

import { decimalText } from '../../model/service.ts'
import { type Html, html } from '../markup/html.ts'
import { type Body, isRecord, recordsIn, type Shown, textIn } from '../shown.ts'
import { jsonSection } from './json-section.ts'

const MAX_ROWS = 1_000

const cell = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : (decimalText(value) ?? JSON.stringify(value))
}

const isNumber = (value: unknown): boolean => decimalText(value) !== undefined

const table = (name: string, rows: readonly Record<string, unknown>[]): Html => {
  const shown = rows.slice(0, MAX_ROWS)
  const columns = [...new Set(shown.flatMap((one) => Object.keys(one)))]
  return html`<section aria-label="${name}"><div class="scroll"><table class="rows">
<caption>${rows.length} ${rows.length === 1 ? 'row' : 'rows'}${rows.length > MAX_ROWS && `, of which ${MAX_ROWS} are shown`}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col"${isNumber(shown[0]?.[column]) && html` class="number"`}>${column}</th>`)}</tr></thead>
<tbody>${shown.map(
    (one) =>
      html`<tr>${columns.map((column) => html`<td data-label="${column}"${isNumber(one[column]) && html` class="number"`}>${cell(one[column])}</td>`)}</tr>`,
  )}</tbody></table></div></section>`
}

export const dataPage = (shown: Shown): Body => {
  const { json, path, links } = shown
  const title = `/${path.join('/')}`
  const lists = Object.entries(json).filter(
    ([, value]) => Array.isArray(value) && value.length > 0 && value.every(isRecord),
  )
  const url = textIn(json.next)
  const next = url === undefined ? undefined : links.ofUrl(url)
  return {
    title,
    body: html`
<h1>${title}</h1>
${lists.map(([name, value]) => table(name, recordsIn(value)))}
${next !== undefined && html`<nav aria-label="Pages"><ul class="actions"><li><a class="button" href="${next}" rel="next">Next page</a></li></ul></nav>`}
${jsonSection(shown, lists.length > 0)}`,
  }
}
