/** The page on which a person chooses the encounter that an app works with. */
import { type Html, html, type Part } from '../../html/service.ts'
import type { EncounterPage, EncounterRow } from './page.ts'
import { paging } from './paging.ts'
import type { Texts } from './texts.ts'

const time = (written: string | undefined, texts: Texts): Part =>
  written !== undefined && html`<time datetime="${written}">${texts.date(written)}</time>`

const rowOf = ({ id, title, start, end, status }: EncounterRow, texts: Texts): Html => {
  const { encounter, statuses } = texts
  return html`<tr role="row">
<th role="rowheader" scope="row"><bdi>${title}</bdi></th>
<td role="cell" data-label="${encounter.start}">${time(start, texts)}</td>
<td role="cell" data-label="${encounter.end}">${time(end, texts)}</td>
<td role="cell" data-label="${encounter.status}">${statuses[status] ?? status}</td>
<td role="cell" class="act"><button class="second" name="encounter" value="${id}">${encounter.choose}<span class="hidden"> ${title}${start !== undefined && `, ${texts.date(start)}`}</span></button></td>
</tr>`
}

const table = ({ action, csrf, rows }: EncounterPage, texts: Texts): Html => {
  const { encounter } = texts
  return html`<form method="post" action="${action}">
<input type="hidden" name="csrf" value="${csrf}">
<table role="table">
<caption>${encounter.caption}</caption>
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">${encounter.name}</th><th role="columnheader" scope="col">${encounter.start}</th><th role="columnheader" scope="col">${encounter.end}</th><th role="columnheader" scope="col">${encounter.status}</th><th role="columnheader" scope="col"><span class="hidden">${encounter.action}</span></th></tr></thead>
<tbody role="rowgroup">
${rows.map((row) => rowOf(row, texts))}
</tbody>
</table>
</form>`
}

export const encounterPage = (page: EncounterPage, texts: Texts): Html => {
  const { clientName, patientName, rows } = page
  const { encounter } = texts
  return html`
<h1>${encounter.title}</h1>
<p><strong><bdi>${clientName}</bdi></strong> ${encounter.lead} <strong><bdi>${patientName}</bdi></strong>.</p>
${rows.length === 0 ? html`<p role="status">${encounter.none}</p>` : table(page, texts)}
${paging(page, texts)}`
}
