/**
 * Searches all that a server stores and logs for what a thousand logins make: `npm run check:secrets -- [logins]`, on SQLite
 * (the files, with the write-ahead log) and on PostgreSQL (all rows of all tables). The suite does it with 22 logins.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import pg from 'pg'
import { type FreshDatabase, postgresKind, sqliteKind } from '../support/database-kinds.ts'
import { findSecrets } from '../support/find-secrets.ts'
import { registerApp } from '../support/login-clinic.ts'
import { COMMON_SECRETS, logInWithSecrets, talkativeClinic } from '../support/login-secrets.ts'
import { createTestBrowser } from '../support/test-browser.ts'

const [logins = 1_000] = process.argv.slice(2).map(Number)
const LOGINS_OF_BROWSER = 5 // so that most begin by a session, and some without one

const filesOf = ({ settings }: FreshDatabase): string => {
  const { sqlite_path: path } = settings.database as { sqlite_path: string }
  return globSync(`${dirname(path)}/*`)
    .map((file) => readFileSync(file, 'latin1'))
    .join('\n')
}

/** Bytes are shown in hexadecimal. */
const rowsOf = async ({ settings }: FreshDatabase): Promise<string> => {
  const { postgres_url: connectionString } = settings.database as { postgres_url: string }
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)
    for (const { row } of rows) texts.push(row)
  }
  await client.end()
  return Buffer.from(texts.join('\n'), 'utf8').toString('latin1')
}

let wrong = 0
for (const kind of [sqliteKind, postgresKind]) {
  const fresh = await kind.fresh()
  const began = performance.now()
  const server = await talkativeClinic(fresh.settings)
  const app = await registerApp(server)
  const secrets = [...COMMON_SECRETS]
  let browser = createTestBrowser(server)
  for (let n = 0; n < logins; n += 1) {
    if (n % LOGINS_OF_BROWSER === 0) browser = createTestBrowser(server)
    secrets.push(...(await logInWithSecrets(server, app, browser)))
  }
  const stored = async (): Promise<string> => (kind.name === 'sqlite' ? filesOf(fresh) : await rowsOf(fresh))
  const beside = await stored()
  const log = JSON.stringify(server.lines)
  // A search that finds nothing has to find what is there.
  const canary = findSecrets(`${beside}\n${log}`, [app.id]).length
  const found = new Set([...findSecrets(beside, secrets), ...findSecrets(log, secrets)])
  await server.stop()
  for (const secret of findSecrets(await stored(), secrets)) found.add(secret)
  await fresh.remove()
  wrong += found.size + (canary === 1 ? 0 : 1)
  const megabytes = ((beside.length + log.length) / 2 ** 20).toFixed(1)
  console.log(
    `${kind.name}: ${logins} logins, ${secrets.length} secrets in ${megabytes} MB of tables and log: ${found.size} found; ` +
      `${Math.round((performance.now() - began) / 1000)} s`,
  )
  for (const secret of [...found].slice(0, 10)) console.log(`  ${secret.slice(0, 4)}… of ${secret.length} characters`)
}
process.exit(wrong === 0 ? 0 : 1)
