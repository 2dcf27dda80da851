/** The first page: what this server is and how it does, how many resources there are, which jobs run. */
import type { AdminAnswer, RequestContext } from '../../../kernel/index.ts'
import type { ServerLine } from '../../cluster/service.ts'
import { createLinks, type Html, html, type Part } from '../../html/service.ts'
import type { JobRow } from '../../jobs/service.ts'
import { consolePage } from '../console-page.ts'
import type { ConsoleParts } from '../console-parts.ts'
import { readQuery } from '../form.ts'
import { bytes, duration, figure } from '../format.ts'
import type { ServerFacts } from '../server-facts.ts'
import { table } from '../table.ts'
import { countList } from './count-list.ts'
import { jobTable } from './job-table.ts'

const NEWEST_JOBS = 100

const factList = ({ version, node, readiness, role, uptimeMs, database, memory }: ServerFacts): Html => {
  const { pool, commits, feed } = database
  const facts: readonly (readonly [string, Part])[] = [
    ['Status', readiness.status === 'ok' ? 'ok' : `${readiness.status}: ${readiness.reason}`],
    ['Role', role],
    ['Version', `${version}, Node.js ${node}`],
    ['Running for', duration(uptimeMs)],
    [
      'Memory',
      `${bytes(memory.resident)} of the process, ${bytes(memory.heap)} of it heap; ${bytes(memory.aim)} is aimed at`,
    ],
    ['Database', database.kind],
    ['Connections', `${pool.busy} of ${pool.size} busy, ${figure(pool.waiting)} queries wait`],
    ['Transactions', `${figure(commits.transactions)} in ${figure(commits.groups)} commits`],
    ['Behind the primary', feed !== undefined && feed.lag > 0 && `${figure(feed.lag)} commits`],
  ]
  return html`<section aria-labelledby="server"><h2 id="server">This server</h2><dl class="facts">${facts.map(
    ([name, value]) => value !== false && html`<dt>${name}</dt><dd>${value}</dd>`,
  )}</dl></section>`
}

const serverTable = (servers: readonly ServerLine[]): Html => html`<section aria-labelledby="servers">
<h2 id="servers">Servers of the database</h2>${table<ServerLine>({
  caption: `${servers.length} ${servers.length === 1 ? 'server' : 'servers'}`,
  rows: servers,
  columns: [
    { name: 'Role', cell: ({ role }) => role },
    { name: 'Host', cell: ({ host }) => host },
    { name: 'Process', isNumber: true, cell: ({ pid }) => pid },
    { name: 'Version', cell: ({ build }) => build },
    { name: 'Commits behind', isNumber: true, cell: ({ lag }) => lag !== undefined && figure(lag) },
    { name: 'Last seen', isNumber: true, cell: ({ seen }) => `${seen} s ago` },
  ],
})}</section>`

const isOpen = ({ state }: JobRow): boolean => state === 'queued' || state === 'running'

export const overviewPage =
  ({ facts, counts, jobs }: ConsoleParts) =>
  async (request: RequestContext): Promise<AdminAnswer> => {
    readQuery(request, [])
    const links = createLinks(request)
    const [now, counted, newest] = await Promise.all([facts.read(), counts(), jobs?.listNewest(NEWEST_JOBS)])
    const open = newest?.filter(isOpen)
    return consolePage(request, {
      title: 'Overview',
      tab: '',
      body: html`
${factList(now)}
${now.servers !== undefined && serverTable(now.servers.servers)}
${
  open !== undefined &&
  html`<section aria-labelledby="jobs"><h2 id="jobs">Jobs that run or wait</h2>${
    open.length === 0
      ? html`<p>None.</p>`
      : jobTable(open, links, `${open.length} ${open.length === 1 ? 'job' : 'jobs'}`)
  }</section>`
}
<section aria-labelledby="resources"><h2 id="resources">Resources</h2>${countList(counted, links)}</section>`,
    })
  }
