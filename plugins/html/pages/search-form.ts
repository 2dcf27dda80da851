/** A form with the search parameters of a type, which works without a script: fields that stay empty are ignored. */
import { type Html, html } from '../markup/html.ts'
import type { Shown } from '../shown.ts'

export interface FormParameter {
  readonly code: string
  readonly type: string
}

/** Code and type of the search parameters of a type, in the order of their codes. */
export type SearchParameters = (type: string) => readonly FormParameter[]

const FORMAT: Readonly<Record<string, string>> = {
  date: 'ge2026-01-31',
  token: 'code or system|code',
  reference: 'Patient/1',
  string: 'beginning of the text',
  number: 'gt5',
  quantity: '5.4|http://unitsofmeasure.org|mg',
  uri: 'http://…',
}

/** Shown first, where the type has them: what people ask for most. */
const USUAL = [
  'name',
  'identifier',
  'patient',
  'subject',
  'code',
  'status',
  'date',
  'category',
  'birthdate',
  'url',
  'title',
]
const ALWAYS: readonly FormParameter[] = [
  { code: '_id', type: 'token' },
  { code: '_lastUpdated', type: 'date' },
]
const STEERING: readonly FormParameter[] = [
  { code: '_sort', type: 'names, - for descending' },
  { code: '_count', type: 'entries of a page' },
]

const field = ({ code, type }: FormParameter, value: string | undefined): Html => html`<div>
<label for="q-${code}">${code} <span class="hint">${FORMAT[type] === undefined ? type : `${type}: ${FORMAT[type]}`}</span></label>
<input id="q-${code}" name="${code}" value="${value ?? ''}" autocomplete="off" spellcheck="false"></div>`

/** `path`: where the search is, such as `Patient` or `Patient/1/Observation`. */
export const searchForm = (
  { links, query }: Shown,
  path: string,
  type: string,
  parametersOf: SearchParameters,
): Html => {
  const all = parametersOf(type).filter(({ type: kind }) => kind !== 'special')
  const usual = USUAL.flatMap((code) => all.find((one) => one.code === code) ?? []).slice(0, 6)
  const rest = [...all.filter((one) => !usual.includes(one) && !one.code.startsWith('_')), ...ALWAYS]
  const known = new Set([...usual, ...rest, ...STEERING].map(({ code }) => code))
  // The first value of a name has its field; others, and names with a modifier, get one of their own.
  const values = new Map<string, string>()
  const others: (readonly [string, string])[] = []
  for (const [name, value] of query) {
    if (name === '_page') continue
    if (known.has(name) && !values.has(name)) values.set(name, value)
    else others.push([name, value])
  }
  const isOpen = rest.some(({ code }) => values.has(code))
  const fields = (list: readonly FormParameter[]): Html =>
    html`<div class="fields">${list.map((one) => field(one, values.get(one.code)))}</div>`
  return html`<form class="card" method="get" action="${links.to(path)}" role="search" aria-label="Search of ${type}">
${fields([...usual, ...STEERING])}
${
  others.length > 0 &&
  html`<div class="fields">${others.map(
    ([name, value], at) =>
      html`<div><label for="o-${at}">${name}</label><input id="o-${at}" name="${name}" value="${value}"></div>`,
  )}</div>`
}
<details${isOpen && html` open`}><summary>All parameters of ${type}</summary>${fields(rest)}</details>
<p></p><button>Search</button>
</form>`
}
