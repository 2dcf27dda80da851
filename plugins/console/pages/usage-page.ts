/** Usage by day as a chart, and by client, of the last days. */
import { type AdminAnswer, AdminParameter, type RequestContext } from '../../../kernel/index.ts'
import { createLinks, type Html, html, type Part } from '../../html/service.ts'
import type { UsageSum } from '../../metering/service.ts'
import { bar, columnChart } from '../charts.ts'
import { consolePage, missing, pathOf, tookTooLong } from '../console-page.ts'
import type { ConsoleParts } from '../console-parts.ts'
import { address, choice, form, type Query, readQuery, textField } from '../form.ts'
import { bytes, figure } from '../format.ts'
import { inTime } from '../in-time.ts'
import { type Column, table } from '../table.ts'

const DAY_MS = 86_400_000
const MOST_CLIENTS = 50
const QUERY_MS = 10_000
const SPANS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const
const NONE: UsageSum = { requests: 0, bytesIn: 0, bytesOut: 0 }

interface Asked {
  readonly days: number
  /** Empty: the callers without a token. */
  readonly client: string | undefined
}

const readAsked = (query: Query): Asked => {
  const days = query.get('days') ?? '30'
  if (!SPANS.some(([one]) => one === days)) throw AdminParameter('days', SPANS.map(([one]) => one).join(', '))
  const anonymous = query.get('anonymous')
  if (anonymous !== undefined && anonymous !== 'true') throw AdminParameter('anonymous', 'true')
  if (anonymous !== undefined && query.has('client'))
    throw AdminParameter('anonymous', 'left out where a client is given')
  return { days: Number(days), client: anonymous === undefined ? query.get('client') : '' }
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

const sumsTable = <Row extends UsageSum>(
  caption: string,
  name: string,
  cell: (row: Row) => Part,
  rows: readonly Row[],
): Html => {
  const most = Math.max(0, ...rows.map(({ requests }) => requests))
  const columns: readonly Column<Row>[] = [
    { name, cell },
    { name: 'Requests', isNumber: true, cell: ({ requests }) => figure(requests) },
    { name: 'Compared', isPicture: true, cell: ({ requests }) => bar(requests, most) },
    { name: 'Received', isNumber: true, cell: ({ bytesIn }) => bytes(bytesIn) },
    { name: 'Sent', isNumber: true, cell: ({ bytesOut }) => bytes(bytesOut) },
  ]
  return table({ caption, columns, rows })
}

export const usagePage =
  ({ metering, clock }: ConsoleParts) =>
  async (request: RequestContext): Promise<AdminAnswer> => {
    const query = readQuery(request, ['days', 'client', 'anonymous'])
    const { days, client } = readAsked(query)
    const links = createLinks(request)
    const show = (body: Html): AdminAnswer => consolePage(request, { title: 'Usage', tab: 'usage', body })
    if (metering === undefined) return show(missing('Requests are not counted.', 'metering', 'enabled = true'))
    const path = pathOf(links, 'usage')
    const fields = form(path, 'What usage is shown', 'Show', [
      choice('days', 'Time', SPANS, String(days)),
      textField('client', 'Client', 'empty for all', client),
    ])
    await metering.flush()
    const now = clock.now()
    const names = Array.from({ length: days }, (_, at) => dayOf(now - (days - 1 - at) * DAY_MS))
    const range = { from: names[0] as string, to: names.at(-1) as string, client, most: MOST_CLIENTS }
    const found = await inTime(clock, QUERY_MS, request.signal, (signal) => metering.totals(range, signal))
    if (found === undefined) return show(html`${fields}${tookTooLong('The sum', 'Choose fewer days.')}`)
    const byDay = new Map(found.days.map((one) => [one.day, one]))
    const rows = names.map((day) => ({ ...NONE, ...byDay.get(day), day }))
    const whose = client === undefined ? '' : client === '' ? ' of callers without a token' : ` of ${client}`
    const linkOf = (one: string): Html =>
      html`<a href="${address(path, one === '' ? { days, anonymous: 'true' } : { days, client: one })}"><bdi>${one === '' ? 'callers without a token' : one}</bdi></a>`
    return show(html`
${fields}
<section aria-labelledby="days"><h2 id="days">Requests by day${whose}</h2>
${columnChart(
  rows.map(({ day, requests }) => ({ label: day, value: requests, text: `${day}: ${figure(requests)} requests` })),
  (most) => `highest: ${figure(most)}`,
)}
<p></p>
<details><summary>Days as a table</summary>${sumsTable('Days in UTC, newest first', 'Day', ({ day }) => day, [...rows].reverse())}</details></section>
<section aria-labelledby="clients"><h2 id="clients">Clients</h2>${
      found.clients.length === 0
        ? html`<p>No requests.</p>`
        : sumsTable(
            found.clients.length === MOST_CLIENTS
              ? `The ${MOST_CLIENTS} with the most requests`
              : 'Most requests first',
            'Client',
            (one) => linkOf(one.client),
            found.clients,
          )
    }</section>`)
  }
