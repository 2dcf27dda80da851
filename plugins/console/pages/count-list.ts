/** Resource types with the number of their resources, each a link to the search of the type. */
import { type Html, html, type Links } from '../../html/service.ts'
import { figure, instant } from '../format.ts'
import type { ResourceCounts } from '../resource-counts.ts'

export const countList = (counts: ResourceCounts | undefined, links: Links): Html => {
  if (counts === undefined)
    return html`<p>The resources could not be counted within 5 seconds. It is tried again after a minute.</p>`
  const total = counts.types.reduce((sum, { count }) => sum + count, 0)
  return html`<p class="quiet">${figure(total)} ${total === 1 ? 'resource' : 'resources'}, counted at ${instant(counts.at)} UTC and anew after a minute</p>
<ul class="types">${counts.types.map(
    ({ type, count }) =>
      html`<li><a href="${links.to(encodeURIComponent(type))}">${type}</a> <span class="quiet">${figure(count)}</span></li>`,
  )}</ul>`
}
