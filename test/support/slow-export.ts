/** Makes each type that an export reads take a while, so that a test can end its server in the middle. */
import { definePlugin } from '../../kernel/index.ts'

const TYPE_MS = 300

export default definePlugin({
  name: 'slow-export',
  setup({ hooks }) {
    hooks.onAudit.tapPromise('take a while', async ({ request }) => {
      if (request.url === '/-/export') await new Promise((resolve) => setTimeout(resolve, TYPE_MS))
    })
  },
})
