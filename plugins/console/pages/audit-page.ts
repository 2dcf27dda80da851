/** The audit trail with filters, by the search of /_audit. */
import type { AdminAnswer, RequestContext } from '../../../kernel/index.ts'
import { KINDS, type TrailEntry } from '../../audit/service.ts'
import { createLinks, type Html, html, type Links, type Part } from '../../html/service.ts'
import { consolePage, missing, nextPage, pathOf } from '../console-page.ts'
import type { ConsoleParts } from '../console-parts.ts'
import { address, choice, form, type Query, readQuery, textField } from '../form.ts'
import { instant } from '../format.ts'
import { table } from '../table.ts'

/** Parameters of /_audit that have a field of their name. */
const SAME = ['agent', 'patient', 'entity', 'subtype', 'action', 'outcome', '_page'] as const
const NAMES = [...SAME, 'from', 'to']

const MOST_UNBROKEN = 24 // characters

const ANY = ['', 'any'] as const
const ACTIONS = [ANY, ['C', 'create'], ['R', 'read'], ['U', 'update'], ['D', 'delete'], ['E', 'execute']] as const
const OUTCOMES = [ANY, ['0', 'done'], ['4', 'refused'], ['8', 'failed']] as const

const parametersOf = (query: Query): URLSearchParams => {
  const parameters = new URLSearchParams()
  for (const name of SAME) {
    const value = query.get(name)
    if (value !== undefined) parameters.set(name, value.trim())
  }
  for (const [name, prefix] of [
    ['from', 'ge'],
    ['to', 'le'],
  ] as const) {
    const value = query.get(name)
    if (value !== undefined) parameters.append('date', `${prefix}${value.trim()}`)
  }
  return parameters
}

const filters = (path: string, query: Query): Html =>
  form(path, 'Filters of the audit trail', 'Show', [
    textField('agent', 'Who', 'client, or Practitioner/1', query.get('agent')),
    textField('patient', 'Patient', 'Patient/1', query.get('patient')),
    textField('entity', 'Resource', 'Observation/1', query.get('entity')),
    choice('subtype', 'Interaction', [ANY, ...KINDS.map((kind) => [kind, kind] as const)], query.get('subtype')),
    choice('action', 'Action', ACTIONS, query.get('action')),
    choice('outcome', 'Outcome', OUTCOMES, query.get('outcome')),
    textField('from', 'From', '2026-01-31, UTC', query.get('from')),
    textField('to', 'To', '2026-01-31T12:00:00Z', query.get('to')),
  ])

const referenceTo = (links: Links, type: string | undefined, id: string | undefined): Part => {
  if (type === undefined || id === undefined) return type
  const text = `${type}/${id}`
  const href = links.ofReference(text)
  // A short one is not broken into lines.
  const shown = html`<bdi${text.length <= MOST_UNBROKEN && html` class="nowrap"`}>${text}</bdi>`
  return href === undefined ? shown : html`<a href="${href}">${shown}</a>`
}

const whoOf = ({ user, client, address: ip, request }: TrailEntry): string => {
  if (user !== undefined) return client === undefined ? user : `${user} by ${client}`
  if (client !== undefined) return client
  return request === undefined ? 'the server' : `anonymous${ip === undefined ? '' : `, ${ip}`}`
}

const entryTable = (entries: readonly TrailEntry[], links: Links): Html =>
  table<TrailEntry>({
    caption: `${entries.length} ${entries.length === 1 ? 'event' : 'events'}, newest first; times in UTC`,
    rows: entries,
    columns: [
      { name: 'Time', cell: ({ seq, at }) => html`<a href="${links.to(`AuditEvent/${seq}`)}">${instant(at)}</a>` },
      { name: 'Who', cell: (entry) => html`<bdi>${whoOf(entry)}</bdi>` },
      {
        name: 'Interaction',
        cell: ({ kind, operation }) =>
          html`${kind}${operation !== undefined && html` <span class="quiet">${operation}</span>`}`,
      },
      { name: 'Resource', cell: ({ kind, type, id }) => (kind === 'admin' ? undefined : referenceTo(links, type, id)) },
      {
        name: 'Patient',
        // Not the resource a second time.
        cell: ({ type, id, patient }) =>
          patient !== undefined && (type !== 'Patient' || id !== patient) && referenceTo(links, 'Patient', patient),
      },
      { name: 'Status', isNumber: true, cell: ({ status }) => status },
      { name: 'Request', cell: ({ request }) => request !== undefined && html`<code>${request}</code>` },
    ],
  })

export const auditPage =
  ({ trail }: ConsoleParts) =>
  async (request: RequestContext): Promise<AdminAnswer> => {
    const query = readQuery(request, NAMES)
    const links = createLinks(request)
    const show = (body: Html): AdminAnswer => consolePage(request, { title: 'Audit trail', tab: 'audit', body })
    if (trail === undefined) return show(missing('No audit trail is kept.', 'audit', 'enabled = true'))
    const path = pathOf(links, 'audit')
    const { entries, next } = await trail.search(parametersOf(query), request.signal)
    return show(html`
${filters(path, query)}
<section aria-label="Events">${entries.length === 0 ? html`<p>No events.</p>` : entryTable(entries, links)}</section>
${nextPage(next && address(path, { ...Object.fromEntries(query), _page: next }))}`)
  }
