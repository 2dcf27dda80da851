/** A plugin that answers at /commit-times when each resource was last committed, in milliseconds since the epoch. */
import { definePlugin } from '../../kernel/index.ts'

export default definePlugin({
  name: 'commit-times',
  setup({ hooks, routes }) {
    const times = new Map<string, number>()
    hooks.onCommit.tap('note the time', ({ changes }) => {
      const now = performance.timeOrigin + performance.now()
      for (const { next } of changes) times.set(`${next.type}/${next.id}`, now)
    })
    routes((app, _options, done) => {
      app.get('/commit-times', async () => Object.fromEntries(times))
      done()
    })
  },
})
