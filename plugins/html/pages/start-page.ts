/** /metadata and the root: what the server has, with links to it. */
import { html } from '../markup/html.ts'
import { type Body, isRecord, recordsIn, type Shown, textIn } from '../shown.ts'
import { jsonSection } from './json-section.ts'

export const startPage = (shown: Shown): Body => {
  const { json, links } = shown
  const software = isRecord(json.software) ? json.software : {}
  const [rest = {}] = recordsIn(json.rest)
  const types = recordsIn(rest.resource).flatMap((one) => textIn(one.type) ?? [])
  const operations = recordsIn(rest.operation).flatMap((one) => textIn(one.name) ?? [])
  const title = textIn(software.name) ?? textIn(json.title) ?? 'FHIR server'
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['FHIR', textIn(json.fhirVersion)],
    ['Version', textIn(software.version)],
    ['Base', isRecord(json.implementation) ? textIn(json.implementation.url) : undefined],
    ['Operations', operations.map((one) => `$${one}`).join(', ') || undefined],
  ]
  return {
    title,
    body: html`
<h1>${title}</h1>
<dl class="facts">${facts.map(([name, value]) => value !== undefined && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
<ul class="actions">
<li><a class="button" href="${links.to('_history')}">Latest changes</a></li>
<li><a class="button" href="${links.to('metadata?_format=json')}">Open as JSON</a></li>
</ul>
<section aria-labelledby="types"><h2 id="types">${types.length} resource types</h2>
<ul class="types">${types.map((one) => html`<li><a href="${links.to(encodeURIComponent(one))}">${one}</a></li>`)}</ul></section>
${jsonSection(shown, true)}`,
  }
}
