/** The page on which a person decides what an app may do. */
import { describeScope, type ScopeDescription } from './describe-scope.ts'
import { type Html, html, type Part } from './html.ts'
import type { ConsentPage } from './page.ts'
import type { ScopeTexts } from './scope-texts.ts'
import type { Texts } from './texts.ts'

const more = ({ scope, details }: ScopeDescription): Html => html`<div class="more">
${details.map((detail) => html`<p>${detail}</p>`)}
<p><code>${scope}</code></p>
</div>`

const choice = (one: ScopeDescription, at: number, texts: ScopeTexts): Html => html`<li>
<input type="checkbox" id="scope-${at}" name="scope" value="${one.scope}" checked aria-describedby="scope-${at}-more">
<label for="scope-${at}">${one.title}</label>
<div class="more" id="scope-${at}-more">
${one.marks.length > 0 && html`<p>${one.marks.map((mark) => html`<span class="mark">${texts.marks[mark]}</span> `)}</p>`}
${one.details.map((detail) => html`<p>${detail}</p>`)}
<p><code>${one.scope}</code></p>
</div>
</li>`

const basic = (one: ScopeDescription): Html => html`<li>
<span class="always" aria-hidden="true">✓</span>
<div>${one.title}<input type="hidden" name="scope" value="${one.scope}"></div>
${more(one)}
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
  const scopes = page.scopes.map((scope) => describeScope(scope, page.patientName, scopeTexts))
  const choices = scopes.filter(({ isChoice }) => isChoice)
  const basics = scopes.filter(({ isChoice }) => !isChoice)
  return html`
<h1><bdi>${page.clientName}</bdi> ${consent.title}</h1>
<dl class="facts">
${fact(consent.you, page.userName)}
${fact(consent.patient, page.patientName)}
${fact(consent.encounter, page.encounterTitle)}
</dl>
<form method="post" action="${page.action}">
<input type="hidden" name="csrf" value="${page.csrf}">
${
  choices.length > 0 &&
  html`<fieldset aria-describedby="choices-hint">
<legend>${consent.choices}</legend>
<p class="quiet small" id="choices-hint">${consent.choicesHint}</p>
<ul class="scopes">
${choices.map((one, at) => choice(one, at, scopeTexts))}
</ul>
</fieldset>`
}
${
  basics.length > 0 &&
  html`<h2>${consent.basics}</h2>
<ul class="scopes">
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
