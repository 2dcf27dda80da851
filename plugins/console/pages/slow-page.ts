/** The stored requests that took the longest. */
import { type AdminAnswer, AdminParameter, type RequestContext } from '../../../kernel/index.ts'
import { createLinks, type Html, html } from '../../html/service.ts'
import type { SlowRequest } from '../../request-log/service.ts'
import { bar } from '../charts.ts'
import { consolePage, missing, pathOf, tookTooLong } from '../console-page.ts'
import type { ConsoleParts } from '../console-parts.ts'
import { choice, form, readQuery, textField } from '../form.ts'
import { instant, milliseconds } from '../format.ts'
import { inTime } from '../in-time.ts'
import { table } from '../table.ts'

const MINUTE_MS = 60_000
const QUERY_MS = 10_000
const MOST = 100
const SPANS = [
  ['15', '15 minutes'],
  ['60', '1 hour'],
  ['360', '6 hours'],
  ['1440', '24 hours'],
] as const

const whoOf = ({ client, user }: SlowRequest): Html => {
  if (client === undefined) return html`<span class="quiet">anonymous</span>`
  return user === undefined ? html`<bdi>${client}</bdi>` : html`<bdi>${user}</bdi> by <bdi>${client}</bdi>`
}

const requestTable = (rows: readonly SlowRequest[]): Html => {
  const most = Math.max(0, ...rows.map(({ ms }) => ms))
  return table<SlowRequest>({
    caption: `${rows.length === MOST ? `The ${MOST} slowest` : 'Slowest'} first; times in UTC`,
    rows,
    columns: [
      { name: 'Took', isNumber: true, cell: ({ ms }) => html`<span class="nowrap">${milliseconds(ms)}</span>` },
      { name: 'Compared', isPicture: true, cell: ({ ms }) => bar(ms, most) },
      {
        name: 'Route',
        cell: ({ method, route }) =>
          html`${method} ${route === undefined ? html`<span class="quiet">no route</span>` : html`<code>${route}</code>`}`,
      },
      { name: 'Status', isNumber: true, cell: ({ status }) => status },
      { name: 'Who', cell: whoOf },
      { name: 'Began', cell: ({ at }) => instant(at) },
      { name: 'X-Request-Id', cell: ({ id }) => html`<code>${id}</code>` },
    ],
  })
}

export const slowPage =
  ({ requests, clock }: ConsoleParts) =>
  async (request: RequestContext): Promise<AdminAnswer> => {
    const query = readQuery(request, ['minutes', 'client'])
    const minutes = query.get('minutes') ?? '60'
    if (!SPANS.some(([one]) => one === minutes)) throw AdminParameter('minutes', SPANS.map(([one]) => one).join(', '))
    const show = (body: Html): AdminAnswer => consolePage(request, { title: 'Slow requests', tab: 'slow', body })
    if (requests === undefined)
      return show(missing('Requests are not stored.', 'request_log', 'enabled = true\nstore = true'))
    const client = query.get('client')
    const fields = form(pathOf(createLinks(request), 'slow'), 'Which requests are shown', 'Show', [
      choice('minutes', 'Of the last', SPANS, minutes),
      textField('client', 'Client', 'empty for all', client),
    ])
    await requests.flush()
    const asked = { from: clock.now() - Number(minutes) * MINUTE_MS, client, most: MOST }
    const rows = await inTime(clock, QUERY_MS, request.signal, (signal) => requests.slowest(asked, signal))
    if (rows === undefined) return show(html`${fields}${tookTooLong('The search', 'Choose a shorter time.')}`)
    return show(html`
${fields}
<section aria-label="Requests">${rows.length === 0 ? html`<p>No requests.</p>` : requestTable(rows)}</section>`)
  }
