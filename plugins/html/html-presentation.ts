/** Shows JSON answers as pages for browsers. */
import type { JsonAnswer, Presentation } from '../../kernel/index.ts'
import { parseExact } from '../model/service.ts'
import { createLinks } from './links.ts'
import { html } from './markup/html.ts'
import { PAGE_HEADERS, page } from './markup/page.ts'
import { bundlePage } from './pages/bundle-page.ts'
import { dataPage } from './pages/data-page.ts'
import { jsonHref } from './pages/json-section.ts'
import { outcomePage } from './pages/outcome-page.ts'
import { type CompartmentTypes, resourcePage } from './pages/resource-page.ts'
import type { SearchParameters } from './pages/search-form.ts'
import { startPage } from './pages/start-page.ts'
import { askForData } from './prefers-html.ts'
import { type Body, isRecord, type Shown } from './shown.ts'

/** Characters of JSON above which a page says only where the JSON is: to parse and build it would keep others waiting. */
const MAX_CHARS = 1024 * 1024

export interface HtmlPresentationParts {
  readonly parametersOf: SearchParameters
  readonly compartments: CompartmentTypes
}

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

const tooLarge = (shown: Shown): Body => ({
  title: 'Too large for a page',
  body: html`
<h1>Too large for a page</h1>
<p>The answer has ${Math.ceil(shown.answer.body.length / 1024)} kB of JSON. Ask for less of it, with <code>_count</code> or <code>_elements</code>, or open the JSON.</p>
<ul class="actions"><li><a class="button" href="${jsonHref(shown)}">Open as JSON</a></li></ul>`,
})

const bodyOf = (shown: Shown, { parametersOf, compartments }: HtmlPresentationParts): Body => {
  const { resourceType } = shown.json
  if (resourceType === 'OperationOutcome' && (shown.answer.status >= 400 || shown.path[0] !== resourceType))
    return outcomePage(shown)
  if (resourceType === 'Bundle' && shown.path[0] !== resourceType) return bundlePage(shown, parametersOf)
  if (resourceType === 'CapabilityStatement' && shown.path[0] !== resourceType) return startPage(shown)
  return resourceType === undefined ? dataPage(shown) : resourcePage(shown, compartments)
}

const shownOf = (answer: JsonAnswer, json: Shown['json']): Shown => {
  const { url } = answer.request
  const start = url.indexOf('?')
  const path = (start === -1 ? url : url.slice(0, start)).split('/').filter((one) => one !== '')
  return {
    answer,
    json,
    links: createLinks(answer.request),
    path: path.map(decoded),
    query: start === -1 ? [] : [...new URLSearchParams(url.slice(start + 1))],
  }
}

const trailOf = ({ path, links }: Shown): { readonly name: string; readonly href: string }[] =>
  path.map((name, at) => ({
    name,
    href: links.to(
      path
        .slice(0, at + 1)
        .map(encodeURIComponent)
        .join('/'),
    ),
  }))

export const createHtmlPresentation = (parts: HtmlPresentationParts): Presentation => ({
  type: 'text/html',
  askForData,
  show(answer) {
    const isLarge = answer.body.length > MAX_CHARS
    const json = isLarge ? {} : parseExact(answer.body)
    if (!isRecord(json)) return undefined
    const shown = shownOf(answer, json)
    const { title, body } = isLarge ? tooLarge(shown) : bodyOf(shown, parts)
    const trail = trailOf(shown)
    const foot = html`<p>Request <code>${answer.request.id}</code></p>`
    return {
      headers: { ...PAGE_HEADERS, vary: 'accept' },
      body: page({ title, root: shown.links.root, trail, body, foot }),
    }
  },
})
