/** The page on which a person decides what an app may do. */

import { type Html, html, type Part } from '../../html/service.ts'
import { describeScope, type ScopeDescription } from './describe-scope.ts'
import type { ConsentPage } from './page.ts'
import type { ScopeTexts } from './scope-texts.ts'
import type { Texts } from './texts.ts'

const choice = (one: ScopeDescription, id: string, texts: ScopeTexts): Html => html`<li>
<input type="checkbox" id="${id}" name="scope" value="${one.scope}" checked aria-describedby="${id}-more">
<div>
<label for="${id}">${one.title}</label>
<div class="more" id="${id}-more">
${one.marks.length > 0 && html`<p>${one.marks.map((mark) => html`<span class="mark">${texts.marks[mark]}</span> `)}</p>`}
${one.details.map((detail) => html`<p>${detail}</p>`)}
<p><code>${one.scope}</code></p>
</div>
</div>
</li>`

const choices = (
  scopes: readonly ScopeDescription[],
  patient: string | undefined,
  texts: ScopeTexts,
): readonly Html[] =>
  (['patient', 'user', 'lasting'] as const).flatMap((group) => {
    const own = scopes.filter((one) => one.group === group)
    if (own.length === 0) return []
    const headings = { patient: texts.inRecordOf(patient), user: texts.inRecordsOfUser, lasting: texts.forHowLong }
    return html`<fieldset>
<legend>${headings[group]}</legend>
<ul class="scopes">
${own.map((one, at) => choice(one, `${group}-${at}`, texts))}
</ul>
</fieldset>`
  })

const basic = ({ scope, title, details }: ScopeDescription): Html => html`<li>
${title} <code>${scope}</code><input type="hidden" name="scope" value="${scope}">
${details.map((detail) => html`<p class="hint">${detail}</p>`)}
</li>`

/** Only addresses of the web become links: another scheme could run a script. */
const linkTo = (uri: string): Html =>
  URL.canParse(uri) && /^https?:$/.test(new URL(uri).protocol)
    ? html`<a href="${uri}" target="_blank" rel="noopener noreferrer"><bdi>${uri}</bdi></a>`
    : html`<bdi>${uri}</bdi>`

const fact = (name: string, value: string | undefined): Part =>
  value !== undefined && html`<dt>${name}</dt><dd><bdi>${value}</bdi></dd>`

export const consentPage = (page: ConsentPage, texts: Texts, scopeTexts: ScopeTexts): Html => {
  const { consent } = texts
  const scopes = page.scopes.map((scope) => describeScope(scope, scopeTexts))
  const offered = choices(scopes, page.patientName, scopeTexts)
  const basics = scopes.filter(({ group }) => group === 'basic')
  return html`
<h1><bdi>${page.clientName}</bdi> ${consent.title}</h1>
<dl class="facts">
${fact(consent.you, page.userName)}
${fact(consent.patient, page.patientName)}
${fact(consent.encounter, page.encounterTitle)}
</dl>
<form method="post" action="${page.action}">
<input type="hidden" name="csrf" value="${page.csrf}">
${offered.length > 0 && html`<p class="quiet">${consent.choicesHint}</p>`}
${offered}
${
  basics.length > 0 &&
  html`<h2>${consent.basics}</h2>
<ul class="basics">
${basics.map(basic)}
</ul>`
}
<div class="decide">
<button name="decision" value="allow">${consent.allow}</button>
<button class="second" name="decision" value="deny">${consent.deny}</button>
</div>
</form>
<div class="foot">
<p>${consent.returns} <strong><bdi>${page.returnsTo}</bdi></strong>.</p>
${page.clientUri !== undefined && html`<p>${consent.clientUri} ${linkTo(page.clientUri)}</p>`}
<p>${consent.clientId} <code>${page.clientId}</code></p>
</div>`
}
