/** One job: its state, progress and error. */
import type { AdminAnswer, RequestContext } from '../../../kernel/index.ts'
import { html, type Part } from '../../html/service.ts'
import { isJobId, JobUnknown } from '../../jobs/service.ts'
import { consolePage } from '../console-page.ts'
import type { ConsoleParts } from '../console-parts.ts'
import { readQuery } from '../form.ts'
import { timeOf } from './job-table.ts'

export const jobPage =
  ({ jobs }: ConsoleParts) =>
  async (request: RequestContext): Promise<AdminAnswer> => {
    readQuery(request, [])
    const [path = ''] = request.url.split('?')
    const id = path.slice(path.lastIndexOf('/') + 1)
    const job = isJobId(id) ? await jobs?.find(id) : undefined
    if (job === undefined) throw JobUnknown(id.slice(0, 64))
    const facts: readonly (readonly [string, Part])[] = [
      ['Id', html`<code>${id}</code>`],
      ['Kind', job.kind],
      ['State', html`<span class="mark">${job.state}</span>`],
      ['Progress', job.progress],
      ['Error', job.error],
      ['Attempts', Number(job.starts)],
      ['Client', job.client],
      ['User', job.person],
      ['Created', timeOf(job.created)],
      ['Ended', timeOf(job.ended)],
      ['Kept until', timeOf(job.expires)],
    ]
    return consolePage(request, {
      title: 'Job',
      tab: 'jobs',
      below: id,
      body: html`<section aria-label="Job"><dl class="facts">${facts.map(
        ([name, value]) => value !== false && value !== '' && html`<dt>${name}</dt><dd>${value}</dd>`,
      )}</dl></section>
<p class="quiet">Times are in UTC. <code>server jobs cancel ${id}</code> ends a job that runs or waits.</p>`,
    })
  }
