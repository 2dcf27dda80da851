/** Restricts all callers to Bundles that are collections, once `GET /limit` was requested. */
import { definePlugin, type Restriction } from '../../kernel/index.ts'

const COLLECTIONS: Restriction = { types: { Bundle: [{ rights: 'cruds', query: 'type=collection' }] }, others: [] }

export default definePlugin({
  name: 'limited',
  setup({ hooks, routes }) {
    let isLimited = false
    hooks.authorize.tap('limit', (_request, _interaction, ruling) => {
      if (isLimited) ruling.restrict(COLLECTIONS)
    })
    routes(
      (app, _options, done) => {
        app.get('/limit', () => {
          isLimited = true
          return {}
        })
        done()
      },
      { bare: true },
    )
  },
})
