/** An OperationOutcome: what happened, to what, and what to do. */
import { html } from '../markup/html.ts'
import { type Body, recordsIn, type Shown, textIn } from '../shown.ts'

const TITLES: Readonly<Record<number, string>> = {
  400: 'The request is not valid',
  401: 'Access needs a token',
  403: 'Access is refused',
  404: 'Not found',
  405: 'Not possible here',
  406: 'Not in this form',
  410: 'Deleted',
  412: 'A condition does not hold',
  429: 'Too many requests',
  503: 'The server does not take requests now',
}

const titleOf = (status: number): string =>
  TITLES[status] ?? (status >= 500 ? 'The server failed' : status >= 400 ? 'The request was refused' : 'Outcome')

export const outcomePage = ({ json, answer: { status }, links, path }: Shown): Body => {
  const title = titleOf(status)
  const issues = recordsIn(json.issue)
  const expressionOf = (value: unknown): string =>
    Array.isArray(value) ? value.filter((one) => typeof one === 'string').join(', ') : ''
  const [type, id] = path
  return {
    title,
    body: html`
<h1>${title}</h1>
<p class="quiet">HTTP status ${status}</p>
${issues.map((issue) => {
  const severity = textIn(issue.severity) ?? 'error'
  const expression = expressionOf(issue.expression)
  const isBad = severity === 'error' || severity === 'fatal'
  return html`<div class="issue${isBad && ' bad'}"><p><strong>${severity}</strong> <span class="mark">${textIn(issue.code)}</span></p>
<p>${textIn(issue.diagnostics)}</p>${expression !== '' && html`<p><code>${expression}</code></p>`}</div>`
})}
<ul class="actions">
<li><a class="button" href="${links.to('metadata')}">Start page</a></li>
${status === 410 && type !== undefined && id !== undefined && html`<li><a class="button" href="${links.to(`${encodeURIComponent(type)}/${encodeURIComponent(id)}/_history`)}">History</a></li>`}
</ul>
${status === 401 && html`<p class="quiet">This server shows data to clients that send an access token. A browser has none; an app asks for one.</p>`}`,
  }
}
