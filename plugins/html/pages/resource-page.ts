/** One resource: its narrative, its JSON, its versions and what belongs to it. */
import { type Html, html } from '../markup/html.ts'
import { showNarrative } from '../narrative.ts'
import { type Body, isRecord, type Shown, textIn } from '../shown.ts'
import { nameOf } from '../summary-of.ts'
import { jsonHref, jsonSection } from './json-section.ts'

/** The types in the compartments of a type: `Patient` to Observation, Condition and so on. */
export type CompartmentTypes = (type: string) => readonly string[]

const narrativeSection = (text: unknown): Html | undefined => {
  const div = isRecord(text) ? textIn(text.div) : undefined
  if (div === undefined) return undefined
  const shown = showNarrative(div) ?? html`<p class="quiet">The narrative is too long to be shown here.</p>`
  return html`<section aria-label="Narrative"><h2>Narrative</h2>${shown}</section>`
}

/** Links to the versions beside this one. */
const versionLinks = ({ links }: Shown, own: string, version: string | undefined, isPast: boolean): readonly Html[] => {
  const number = version !== undefined && /^[1-9]\d{0,9}$/.test(version) ? Number(version) : undefined
  return [
    html`<li><a class="button" href="${links.to(`${own}/_history`)}">History</a></li>`,
    ...(isPast ? [html`<li><a class="button" href="${links.to(own)}">Current version</a></li>`] : []),
    ...(number !== undefined && number > 1
      ? [html`<li><a class="button" href="${links.to(`${own}/_history/${number - 1}`)}">Version before</a></li>`]
      : []),
  ]
}

export const resourcePage = (shown: Shown, compartments: CompartmentTypes): Body => {
  const { json, links, path } = shown
  const type = textIn(json.resourceType) ?? 'Resource'
  const id = textIn(json.id)
  const meta = isRecord(json.meta) ? json.meta : {}
  const version = textIn(meta.versionId)
  // What an operation makes has no address.
  const isStored = id !== undefined && path[0] === type && path[1] === id && !path.some((one) => one.startsWith('$'))
  const own = `${encodeURIComponent(type)}/${encodeURIComponent(id ?? '')}`
  const title = id === undefined ? type : `${type}/${id}`
  const inside = isStored ? compartments(type) : []
  return {
    title,
    body: html`
<h1><bdi>${nameOf(json) ?? title}</bdi></h1>
<dl class="facts">
<dt>Resource</dt><dd><code>${title}</code></dd>
${version !== undefined && html`<dt>Version</dt><dd>${version}</dd>`}
${textIn(meta.lastUpdated) !== undefined && html`<dt>Last updated</dt><dd><time>${textIn(meta.lastUpdated)}</time></dd>`}
</dl>
<ul class="actions">
${isStored && versionLinks(shown, own, version, path[2] === '_history')}
${isStored && type === 'Patient' && html`<li><a class="button" href="${links.to(`${own}/$everything`)}">Everything</a></li>`}
<li><a class="button" href="${jsonHref(shown)}">Open as JSON</a></li>
</ul>
${
  inside.length > 0 &&
  html`<details class="card"><summary>Resources of this ${type}</summary><ul class="types">
${inside.map((one) => html`<li><a href="${links.to(`${own}/${one}`)}">${one}</a></li>`)}
</ul></details>`
}
${narrativeSection(json.text)}
${jsonSection(shown)}`,
  }
}
