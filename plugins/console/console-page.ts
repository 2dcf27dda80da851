/** The frame of each page: its address, the way between pages, what is said of plugins that are not there. */
import type { AdminAnswer, RequestContext } from '../../kernel/index.ts'
import { createLinks, type Html, html, type Links, PAGE_HEADERS, page } from '../html/service.ts'

const TABS = [
  ['', 'Overview'],
  ['search', 'Search'],
  ['audit', 'Audit trail'],
  ['usage', 'Usage'],
  ['jobs', 'Jobs'],
  ['slow', 'Slow requests'],
] as const
export type Tab = (typeof TABS)[number][0]

export interface ConsoleContent {
  readonly title: string
  readonly tab: Tab
  readonly body: Html
  /** Of a page below that of its tab: its address behind it. */
  readonly below?: string | undefined
}

export const pathOf = ({ to }: Links, tab: Tab): string => to(tab === '' ? '_console' : `_console/${tab}`)

export const consolePage = (request: RequestContext, { title, tab, body, below }: ConsoleContent): AdminAnswer => {
  const links = createLinks(request)
  const trail = [{ name: 'Console', href: pathOf(links, '') }]
  if (tab !== '') trail.push({ name: TABS.find(([one]) => one === tab)?.[1] ?? '', href: pathOf(links, tab) })
  if (below !== undefined) trail.push({ name: below, href: `${pathOf(links, tab)}/${encodeURIComponent(below)}` })
  return {
    type: String(PAGE_HEADERS['content-type']),
    headers: PAGE_HEADERS,
    body: page({
      title: `${title} – console`,
      root: links.root,
      trail,
      body: html`
<nav aria-label="Console"><ul class="tabs">${TABS.map(
        ([one, name]) =>
          html`<li><a href="${pathOf(links, one)}"${one === tab && html` aria-current="${below === undefined ? 'page' : 'true'}"`}>${name}</a></li>`,
      )}</ul></nav>
<h1>${title}</h1>
${body}`,
      foot: html`<p>Request <code>${request.id}</code></p>`,
    }),
  }
}

/** Says which setting of server.toml turns on what is not there. */
export const missing = (what: string, section: string, setting: string): Html => html`<div class="card">
<p>${what}</p>
<p>To turn it on, set this in server.toml and start the server again:</p>
<pre>[${section}]
${setting}</pre></div>`

export const tookTooLong = (what: string, instead: string): Html =>
  html`<div class="issue"><p>${what} took too long and was ended. ${instead}</p></div>`

export const nextPage = (href: string | undefined): Html | undefined =>
  href === undefined
    ? undefined
    : html`<nav aria-label="Pages"><ul class="actions"><li><a class="button" href="${href}" rel="next">Next page</a></li></ul></nav>`
