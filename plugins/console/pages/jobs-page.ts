/** All jobs, newest first. */
import { type AdminAnswer, AdminParameter, type RequestContext } from '../../../kernel/index.ts'
import { createLinks, type Html, html } from '../../html/service.ts'
import { isJobId } from '../../jobs/service.ts'
import { consolePage, nextPage, pathOf } from '../console-page.ts'
import type { ConsoleParts } from '../console-parts.ts'
import { address, readQuery } from '../form.ts'
import { jobTable } from './job-table.ts'

const PAGE = 50

export const jobsPage =
  ({ jobs }: ConsoleParts) =>
  async (request: RequestContext): Promise<AdminAnswer> => {
    const after = readQuery(request, ['after']).get('after')
    if (after !== undefined && !isJobId(after)) throw AdminParameter('after', 'what the link to the next page holds')
    const links = createLinks(request)
    const show = (body: Html): AdminAnswer => consolePage(request, { title: 'Jobs', tab: 'jobs', body })
    if (jobs === undefined)
      return show(html`<div class="card"><p>The plugin jobs is not among the plugins of this server.</p></div>`)
    const found = await jobs.listNewest(PAGE + 1, after)
    const shown = found.slice(0, PAGE)
    const next = found.length > PAGE ? address(pathOf(links, 'jobs'), { after: shown.at(-1)?.id }) : undefined
    return show(html`
<section aria-label="Jobs">${shown.length === 0 ? html`<p>No jobs. A job is kept for a day after its end.</p>` : jobTable(shown, links, 'Newest first')}</section>
${nextPage(next)}`)
  }
