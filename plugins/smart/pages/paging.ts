/** Links to the pages before and behind this one. */
import { type Html, html } from '../../html/service.ts'
import type { Texts } from './texts.ts'

interface Paged {
  readonly action: string
  /** What was searched for. */
  readonly query?: string
  readonly next: string | undefined
  readonly previous: string | undefined
}

export const paging = ({ action, query = '', next, previous }: Paged, { pages }: Texts): Html | undefined => {
  if (next === undefined && previous === undefined) return undefined
  const link = (page: string, text: string, rel: string): Html => {
    const parameters = new URLSearchParams({ ...(query !== '' && { q: query }), page })
    return html`<a class="button second" rel="${rel}" href="${action}?${parameters.toString()}">${text}</a>`
  }
  return html`<nav class="pages" aria-label="${pages.label}">
${previous !== undefined && link(previous, pages.previous, 'prev')}
${next !== undefined && link(next, pages.next, 'next')}
</nav>`
}
