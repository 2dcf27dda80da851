/**
 * Records which client and user made each version, in a table of its own that is written in the transaction of each
 * change: both are stored, or neither. `/_authors?of=Patient/p1` shows them. In a package of its own this plugin
 * imports from 'refhir' and 'refhir/plugins/database/service'.
 */
import { AdminParameter, definePlugin, mountAdmin, readAdminQuery } from '../kernel/index.ts'
import { Database, sql } from '../plugins/database/service.ts'

const MAX_VERSIONS = 1_000 // versions in one answer

const insert = sql(
  'authors.insert',
  'INSERT INTO authors_version (resource, version, client, author) VALUES (?, ?, ?, ?)',
)
const select = sql(
  'authors.select',
  `SELECT version, client, author FROM authors_version WHERE resource = ? ORDER BY version DESC LIMIT ${MAX_VERSIONS}`,
)

export default definePlugin({
  name: 'authors',
  description: 'Keeps who made each version',
  api: '^2.0.0',
  needs: { database: Database },
  migrations: [
    {
      name: 'authors/0001-version',
      sql: [
        'CREATE TABLE authors_version (resource varchar(255) NOT NULL, version bigint NOT NULL, client text, author text, PRIMARY KEY (resource, version))',
      ],
    },
  ],
  setup({ hooks, needs: { database }, routes, run }) {
    hooks.onWrite.tapPromise('keep the author', async ({ request: { caller }, next, transaction }) => {
      const { client = null, user = null } = caller
      await transaction.run(insert, [`${next.type}/${next.id}`, next.version, client, user])
    })
    routes(async (app) =>
      mountAdmin(app, run, {
        path: '/_authors',
        async answer(request) {
          const of = readAdminQuery(request, ['of']).get('of')
          if (of === undefined) throw AdminParameter('of', 'a reference such as Patient/p1')
          return { type: 'application/json', body: JSON.stringify(await database.all(select, [of])) }
        },
      }),
    )
  },
})
