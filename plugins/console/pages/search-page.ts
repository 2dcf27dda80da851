/** A form with a type and a query, which leads to the search, whose own page has a field for each parameter. */
import { type AdminAnswer, AdminParameter, type RequestContext } from '../../../kernel/index.ts'
import { createLinks, html } from '../../html/service.ts'
import { consolePage, pathOf } from '../console-page.ts'
import type { ConsoleParts } from '../console-parts.ts'
import { choice, form, readQuery, textField } from '../form.ts'
import { countList } from './count-list.ts'

export const searchPage =
  ({ types, counts }: ConsoleParts) =>
  async (request: RequestContext): Promise<AdminAnswer> => {
    const query = readQuery(request, ['type', 'query'])
    const links = createLinks(request)
    const names = types()
    const type = query.get('type')
    if (type !== undefined) {
      if (!names.includes(type)) throw AdminParameter('type', 'a resource type of this server')
      const parameters = new URLSearchParams(query.get('query') ?? '').toString()
      const location = links.to(parameters === '' ? type : `${type}?${parameters}`)
      return { status: 303, type: 'text/plain; charset=utf-8', body: location, headers: { location } }
    }
    const counted = await counts()
    return consolePage(request, {
      title: 'Search',
      tab: 'search',
      body: html`
${form(pathOf(links, 'search'), 'Search', 'Search', [
  choice(
    'type',
    'Type',
    [...names].sort().map((one) => [one, one]),
    'Patient',
  ),
  textField('query', 'Query', 'name=peter&birthdate=ge1974', query.get('query')),
])}
<section aria-labelledby="types"><h2 id="types">Types with resources</h2>${countList(counted, links)}</section>`,
    })
  }
