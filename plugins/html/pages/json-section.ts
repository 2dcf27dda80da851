/** The JSON of an answer as a part of its page. */
import { viewJson } from '../json-view.ts'
import { type Html, html } from '../markup/html.ts'
import type { Shown } from '../shown.ts'

/** `isClosed`: the reader opens it, because the page shows the same in another way. */
export const jsonSection = ({ json, links }: Shown, isClosed = false): Html => {
  const { view, isWhole } = viewJson(json, links)
  const note = !isWhole && html`<p class="quiet">The rest is left out here: open the JSON for all of it.</p>`
  return isClosed
    ? html`<details class="card"><summary>JSON</summary>${note}${view}</details>`
    : html`<section aria-label="JSON"><h2>JSON</h2>${note}${view}</section>`
}

/** The address of the same answer as JSON. */
export const jsonHref = ({ path, query, links }: Shown): string => {
  const parameters = new URLSearchParams([...query, ['_format', 'json']] as [string, string][])
  return links.to(`${path.map(encodeURIComponent).join('/')}?${parameters}`)
}
