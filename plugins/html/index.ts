/** Shows what the server answers as pages, to browsers. */
import { definePlugin } from '../../kernel/index.ts'
import { Searches } from '../search/service.ts'
import { htmlSection } from './config.ts'
import { createHtmlPresentation } from './html-presentation.ts'

export default definePlugin({
  name: 'html',
  description: 'Shows answers as pages in browsers',
  config: { html: htmlSection },
  needs: { searches: Searches },
  enabled: ({ html }) => html.enabled,
  setup({ needs: { searches }, present }) {
    const registry = () => searches.opened.search.registry
    present(
      createHtmlPresentation({
        parametersOf: (type) =>
          [...registry().parameters(type).values()].sort((one, other) => one.code.localeCompare(other.code)),
        compartments: (type) => Object.keys(registry().compartments[type] ?? {}).sort(),
      }),
    )
  },
})
