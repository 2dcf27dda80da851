/** Tells over HTTP how long the main thread has worked in one go at most since it was asked last: `GET /turns`. */
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
