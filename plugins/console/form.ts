/** Forms of the console, and the query they send. */
import { type RequestContext, readAdminQuery } from '../../kernel/index.ts'
import { type Html, html } from '../html/service.ts'

export type Query = ReadonlyMap<string, string>

/** The query of a page without fields that were left empty. Throws 400 for an unknown parameter. */
export const readQuery = (request: RequestContext, names: readonly string[]): Query =>
  new Map([...readAdminQuery(request, names)].filter(([, value]) => value.trim() !== ''))

/** `path` with a query of the names that have a value. */
export const address = (path: string, query: Readonly<Record<string, string | number | undefined>>): string => {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}

export const textField = (name: string, label: string, hint: string, value: string | undefined): Html => html`<div>
<label for="f-${name}">${label} <span class="hint">${hint}</span></label>
<input id="f-${name}" name="${name}" value="${value ?? ''}" autocomplete="off" spellcheck="false"></div>`

export const choice = (
  name: string,
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  value: string | undefined,
): Html => html`<div>
<label for="f-${name}">${label}</label>
<select id="f-${name}" name="${name}">${options.map(
  ([one, text]) => html`<option value="${one}"${one === (value ?? '') && html` selected`}>${text}</option>`,
)}</select></div>`

export const form = (action: string, label: string, button: string, fields: readonly Html[]): Html =>
  html`<form class="card" method="get" action="${action}" aria-label="${label}">
<div class="fields">${fields}</div>
<button>${button}</button>
</form>`
