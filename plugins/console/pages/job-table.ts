/** Jobs as a table. Their specification is left out: it may hold ids of patients. */
import { type Html, html, type Links, type Part } from '../../html/service.ts'
import type { JobRow } from '../../jobs/service.ts'
import { pathOf } from '../console-page.ts'
import { instant } from '../format.ts'
import { table } from '../table.ts'

/** A time of a job, where it has come. */
export const timeOf = (ms: number): Part => Number(ms) !== 0 && instant(Number(ms))

export const jobTable = (rows: readonly JobRow[], links: Links, caption: string): Html =>
  table<JobRow>({
    caption: `${caption}; times in UTC`,
    rows,
    columns: [
      {
        name: 'Job',
        cell: ({ id }) => html`<a href="${pathOf(links, 'jobs')}/${encodeURIComponent(id)}"><code>${id}</code></a>`,
      },
      { name: 'Kind', cell: ({ kind }) => kind },
      { name: 'State', cell: ({ state }) => html`<span class="mark">${state}</span>` },
      { name: 'Progress', cell: ({ progress }) => progress },
      { name: 'Client', cell: ({ client }) => client !== '' && html`<bdi>${client}</bdi>` },
      { name: 'Created', cell: ({ created }) => timeOf(created) },
      { name: 'Ended', cell: ({ ended }) => timeOf(ended) },
    ],
  })
