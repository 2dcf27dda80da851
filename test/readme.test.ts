/** The examples of all pages work: a server starts from each TOML block, shell blocks name what exists. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'smol-toml'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { commandsOf } from '../cli/commands.ts'
import { createKernel } from '../kernel/index.ts'
import { firstParty } from '../plugins/index.ts'
import { sqliteKind, temporaryFolder } from './support/database-kinds.ts'
import { codeBlocks, pages, readPage } from './support/pages.ts'
import { stubDefinitions } from './support/stub-definitions.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
type Sections = Record<string, Record<string, unknown>>

/** A provider that people log in at is asked from the start on. */
const withoutProvider = ({ smart }: Sections): Sections => {
  const oidc = smart?.oidc as Record<string, unknown> | undefined
  return oidc === undefined ? {} : { smart: { ...smart, oidc: { ...oidc, issuer: 'http://127.0.0.1:9' } } }
}

/** What a test must not do for an example: use the network, the working directory, or a port that may be taken. */
const contained = (settings: Sections, folder: string, sqlitePath: string) => ({
  ...settings,
  server: { ...settings.server, bind: '127.0.0.1:0' },
  database: {
    ...settings.database,
    ...(settings.database?.kind === 'memory' ? {} : { sqlite_path: sqlitePath }),
  },
  conformance: {
    ...settings.conformance,
    package_registry: 'http://127.0.0.1:9',
    package_cache: `${folder}/package-cache`,
    packages: [],
    skip_default_packages: true,
  },
  ...withoutProvider(settings),
})

for (const page of pages) {
  codeBlocks(page, 'toml').forEach((text, at) => {
    test(`a server starts from TOML block ${at + 1} of ${page}`, async () => {
      const folder = temporaryFolder()
      // Mostly with the tables already, which take longer than the start.
      const place = await sqliteKind.fresh(firstParty)
      const { sqlite_path: path } = place.settings.database as { readonly sqlite_path: string }
      const settings = contained(parse(text) as Sections, folder.path, path)
      const kernel = await createKernel({ plugins: firstParty, settings, log: { level: 'silent' } })
      await kernel.start()
      assert.is((await kernel.inject('/readyz')).statusCode, 200)
      await kernel.stop()
      await place.remove()
      folder.remove()
    })
  })
}

test('every plugin has a manual page with the same headings, and the README lists it', () => {
  for (const { name } of firstParty) {
    const page = readPage(`plugins/${name}/README.md`)
    for (const heading of ['Name', 'Description', 'Settings', 'Hooks', 'Endpoints', 'Commands', 'Examples'])
      assert.match(page, new RegExp(`^## ${heading}$`, 'm'), `${name}: ${heading}`)
    assert.match(readPage('README.md'), `plugins/${name}/README.md`)
  }
})

test('the commands and npm scripts that pages name exist', () => {
  const commands = commandsOf(firstParty)
  for (const page of pages) {
    const lines = [...codeBlocks(page, 'sh'), ...codeBlocks(page, 'bash')].join('\n')
    const inBlocks = [...lines.matchAll(/^(?:[A-Z_]+=\S+ )*server ([a-z]+)/gm)]
    for (const [, name = ''] of [...inBlocks, ...readPage(page).matchAll(/`server ([a-z]+)/g)])
      assert.ok(commands.has(name), `${page}: server ${name}`)
  }
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { scripts: Record<string, string> }
  for (const page of pages)
    for (const [, name = ''] of readPage(page).matchAll(/npm run ([\w:-]+)/g))
      assert.ok(name in scripts, `${page}: ${name}`)
})

test('the page of the command line lists every command', () => {
  const page = readPage('cli/README.md')
  for (const name of commandsOf(firstParty).keys())
    if (name !== 'serve') assert.match(page, new RegExp(`^\\| .*\`server ${name}[ \`]`, 'm'), name)
})

test('the README is short', () => {
  assert.ok(readPage('README.md').split('\n').length <= 150)
})

test('the curl examples of all pages are answered with 2xx in their order', async () => {
  const kernel = await createKernel({
    plugins: firstParty.map((one) => (one.name === 'packages' ? stubDefinitions('all') : one)),
    settings: { database: { kind: 'memory' }, conformance: { update_as_create: true } },
    log: { level: 'silent' },
  })
  await kernel.start()
  for (const page of pages)
    for (const [, line = ''] of codeBlocks(page, 'sh')
      .join('\n')
      .matchAll(/^curl (.+)$/gm)) {
      // What an earlier answer has given stands in a variable of the shell: such a line is run by a test of its plugin.
      if (/\$[A-Z]/.test(line)) continue
      const url = /http:\/\/127\.0\.0\.1:8080([^\s']+)/.exec(line)?.[1] ?? ''
      const payload = /-d '([^']+)'/.exec(line)?.[1]
      const method = /-X (\w+)/.exec(line)?.[1] ?? (payload === undefined ? 'GET' : 'POST')
      const headers = Object.fromEntries(
        [...line.matchAll(/-H '([^:']+): ([^']+)'/g)].map(([, name, value]) => [name, value]),
      )
      const answer = await kernel.inject({ method: method as 'GET', url, headers, ...(payload && { payload }) })
      assert.ok(answer.statusCode < 300, `${page}: curl ${line} → ${answer.statusCode} ${answer.body.slice(0, 200)}`)
    }
  await kernel.stop()
})

test.run()
