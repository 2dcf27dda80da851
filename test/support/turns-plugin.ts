/** `GET /turns` returns the longest time that the main thread has worked without yielding since the last request. */
import { definePlugin } from '../../kernel/index.ts'
import { watchTurns } from './watch-turns.ts'

export default definePlugin({
  name: 'turns',
  setup({ routes }) {
    const turns = watchTurns()
    routes(
      (app, _options, done) => {
        app.get('/turns', () => ({ ...turns.take(), rss: process.memoryUsage.rss() }))
        done()
      },
      { bare: true },
    )
    return { stop: async () => turns.stop() }
  },
})
