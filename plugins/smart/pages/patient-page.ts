/** The page on which a person chooses the patient that an app works with. */
import { type Html, html } from '../../html/service.ts'
import type { PatientPage, PatientRow } from './page.ts'
import { paging } from './paging.ts'
import type { Texts } from './texts.ts'

const rowOf = ({ id, name, birthDate, gender, identifier }: PatientRow, texts: Texts): Html => {
  const { patient, genders } = texts
  const shown = name.trim() === '' ? patient.noName : name
  return html`<tr role="row">
<th role="rowheader" scope="row"><bdi>${shown}</bdi></th>
<td role="cell" data-label="${patient.birthDate}">${birthDate !== undefined && html`<time datetime="${birthDate}">${texts.date(birthDate)}</time>`}</td>
<td role="cell" data-label="${patient.gender}">${gender !== undefined && (genders[gender] ?? gender)}</td>
<td role="cell" data-label="${patient.identifier}">${identifier !== undefined && html`<bdi>${identifier}</bdi>`}</td>
<td role="cell" class="act"><button class="second" name="patient" value="${id}">${patient.choose}<span class="hidden"> ${shown}${birthDate !== undefined && `, ${texts.date(birthDate)}`}</span></button></td>
</tr>`
}

const table = ({ action, csrf, rows }: PatientPage, texts: Texts): Html => {
  const { patient } = texts
  return html`<form method="post" action="${action}">
<input type="hidden" name="csrf" value="${csrf}">
<table role="table">
<caption>${patient.caption}</caption>
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">${patient.name}</th><th role="columnheader" scope="col">${patient.birthDate}</th><th role="columnheader" scope="col">${patient.gender}</th><th role="columnheader" scope="col">${patient.identifier}</th><th role="columnheader" scope="col"><span class="hidden">${patient.action}</span></th></tr></thead>
<tbody role="rowgroup">
${rows.map((row) => rowOf(row, texts))}
</tbody>
</table>
</form>`
}

export const patientPage = (page: PatientPage, texts: Texts): Html => {
  const { action, clientName, query, rows } = page
  const { patient } = texts
  return html`
<h1>${patient.title}</h1>
<p><strong><bdi>${clientName}</bdi></strong> ${patient.lead}</p>
<form class="search" role="search" method="get" action="${action}">
<div>
<label for="q">${patient.search}</label>
<input type="search" id="q" name="q" value="${query}" maxlength="200" autocomplete="off" spellcheck="false" aria-describedby="q-hint">
</div>
<button>${patient.searchButton}</button>
<p class="hint full" id="q-hint">${patient.searchHint}</p>
</form>
${rows.length === 0 ? html`<p role="status">${texts.nobodyFound(query)}</p>` : table(page, texts)}
${paging(page, texts)}`
}
