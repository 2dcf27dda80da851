/** A Bundle as a table: of a search, of a history, or the answer to one. */
import { type Html, html } from '../markup/html.ts'
import { type Body, isRecord, type Json, recordsIn, type Shown, textIn } from '../shown.ts'
import { summaryOf } from '../summary-of.ts'
import { jsonHref, jsonSection } from './json-section.ts'
import { type SearchParameters, searchForm } from './search-form.ts'

const nameOfEntry = ({ resource, request, fullUrl }: Json): string => {
  const { resourceType, id } = isRecord(resource) ? resource : {}
  if (typeof resourceType === 'string') return typeof id === 'string' ? `${resourceType}/${id}` : resourceType
  return (isRecord(request) ? textIn(request.url) : undefined) ?? textIn(fullUrl) ?? ''
}

const row = (entry: Json, { links }: Shown, isHistory: boolean): Html => {
  const resource = isRecord(entry.resource) ? entry.resource : {}
  const request = isRecord(entry.request) ? entry.request : {}
  const response = isRecord(entry.response) ? entry.response : {}
  const meta = isRecord(resource.meta) ? resource.meta : {}
  const fullUrl = textIn(entry.fullUrl)
  const name = nameOfEntry(entry)
  const version = textIn(meta.versionId) ?? /^W\/"(\d+)"$/.exec(textIn(response.etag) ?? '')?.[1]
  const current = (fullUrl === undefined ? undefined : links.ofUrl(fullUrl)) ?? links.ofReference(name)
  const isDeleted = request.method === 'DELETE'
  const href =
    isHistory && !isDeleted && current !== undefined && version !== undefined
      ? `${current}/_history/${version}`
      : current
  const mode = isRecord(entry.search) ? textIn(entry.search.mode) : undefined
  const outcome =
    resource.resourceType === 'OperationOutcome'
      ? recordsIn(resource.issue)
          .map((one) => textIn(one.diagnostics))
          .join(' ')
      : undefined
  const when = textIn(meta.lastUpdated) ?? textIn(response.lastModified)
  return html`<tr>
<th scope="row">${href === undefined ? html`<bdi>${name}</bdi>` : html`<a href="${href}"><bdi>${name}</bdi></a>`} ${mode !== undefined && mode !== 'match' && html`<span class="mark">${mode}</span>`}</th>
<td><bdi>${outcome ?? summaryOf(resource)}</bdi></td>
${isHistory && html`<td data-label="Change">${[textIn(request.method), textIn(response.status)].filter((one) => one !== undefined).join(' · ')}</td>`}
<td data-label="Version">${version}</td>
<td data-label="Updated">${when !== undefined && html`<time>${when}</time>`}</td>
</tr>`
}

const PAGES: readonly (readonly [string, string])[] = [
  ['first', 'First page'],
  ['previous', 'Previous page'],
  ['prev', 'Previous page'],
  ['next', 'Next page'],
  ['last', 'Last page'],
]

const paging = ({ json, links }: Shown): Html | undefined => {
  const all = recordsIn(json.link)
  const found = PAGES.flatMap(([relation, name]) => {
    const url = textIn(all.find((one) => one.relation === relation)?.url)
    const href = url === undefined ? undefined : links.ofUrl(url)
    return href === undefined ? [] : [html`<li><a class="button" href="${href}" rel="${relation}">${name}</a></li>`]
  })
  return found.length === 0 ? undefined : html`<nav aria-label="Pages"><ul class="actions">${found}</ul></nav>`
}

/** The type that is searched, where the address names one. */
const searchedType = ({ path, json }: Shown): string | undefined => {
  if (json.type !== 'searchset' || path.some((one) => one.startsWith('_') || one.startsWith('$'))) return undefined
  const type = path.length === 3 ? path[2] : path.length === 1 ? path[0] : undefined
  return type === '*' ? undefined : type
}

export const bundlePage = (shown: Shown, parametersOf: SearchParameters): Body => {
  const { json, path, links } = shown
  const entries = recordsIn(json.entry)
  const kind = textIn(json.type) ?? 'collection'
  const isHistory = kind === 'history'
  const where = path.length === 0 ? 'all types' : path.filter((one) => one !== '_history').join('/')
  const title = isHistory
    ? `History of ${where === '' ? 'all types' : where}`
    : path.length === 0
      ? 'Search of all types'
      : where
  const type = searchedType(shown)
  const total = typeof json.total === 'object' && json.total !== null ? JSON.stringify(json.total) : json.total
  const count = entries.length === 1 ? '1 entry' : `${entries.length} entries`
  return {
    title,
    body: html`
<h1><bdi>${title}</bdi></h1>
<p class="quiet">${kind}, ${count}${total !== undefined && `, ${String(total)} in all`}</p>
${type !== undefined && searchForm(shown, path.map(encodeURIComponent).join('/'), type, parametersOf)}
<ul class="actions">
${type !== undefined && path.length === 1 && html`<li><a class="button" href="${links.to(`${encodeURIComponent(type)}/_history`)}">History</a></li>`}
<li><a class="button" href="${jsonHref(shown)}">Open as JSON</a></li>
</ul>
${
  entries.length === 0
    ? html`<section><p>Nothing was found.</p></section>`
    : html`<section aria-label="Entries"><table class="rows">
<thead><tr><th scope="col">Resource</th><th scope="col">Summary</th>${isHistory && html`<th scope="col">Change</th>`}<th scope="col">Version</th><th scope="col">Updated</th></tr></thead>
<tbody>${entries.map((one) => row(one, shown, isHistory))}</tbody>
</table></section>`
}
${paging(shown)}
${jsonSection(shown, true)}`,
  }
}
