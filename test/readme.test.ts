/** Every example of every README works: a server starts from each TOML block, shell blocks name what exists. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'smol-toml'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { commandsOf } from '../cli/commands.ts'
import { createKernel } from '../kernel/index.ts'
import { firstParty } from '../plugins/index.ts'
import { temporaryFolder } from './support/database-kinds.ts'
import { examplesFolder } from './support/stub-definitions.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('{plugins,examples}/*/README.md', { cwd: root }).sort()]
const read = (page: string): string => readFileSync(`${root}${page}`, 'utf8')
const blocks = (page: string, language: string): string[] =>
  [...read(page).matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(([, text = '']) => text)

type Sections = Record<string, Record<string, unknown>>

/** A provider that people log in at is asked from the start on. */
const withoutProvider = ({ smart }: Sections): Sections => {
  const oidc = smart?.oidc as Record<string, unknown> | undefined
  return oidc === undefined ? {} : { smart: { ...smart, oidc: { ...oidc, issuer: 'http://127.0.0.1:9' } } }
}

/** What a test must not do for an example: use the network, the working directory, or a port that may be taken. */
const contained = (settings: Sections, folder: string) => ({
  ...settings,
  server: { ...settings.server, bind: '127.0.0.1:0' },
  database: {
    ...settings.database,
    ...(settings.database?.kind === 'memory' ? {} : { sqlite_path: `${folder}/example.sqlite` }),
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
  blocks(page, 'toml').forEach((text, at) => {
    test(`a server starts from TOML block ${at + 1} of ${page}`, async () => {
      const folder = temporaryFolder()
      const settings = contained(parse(text) as Sections, folder.path)
      const kernel = await createKernel({ plugins: firstParty, settings, log: { level: 'silent' } })
      await kernel.start()
      assert.is((await kernel.inject('/readyz')).statusCode, 200)
      await kernel.stop()
      folder.remove()
    })
  })
  test(`the links of ${page} lead somewhere`, () => {
    const folder = page.split('/').slice(0, -1).join('/')
    for (const [, target = ''] of read(page).matchAll(/\]\((?!https?:|#)([^)#]+)\)/g))
      assert.is(globSync(`${folder === '' ? '' : `${folder}/`}${target}`, { cwd: root }).length, 1, target)
  })
}

test('every plugin has a manual page with the same headings, and the README lists it', () => {
  for (const { name } of firstParty) {
    const page = read(`plugins/${name}/README.md`)
    for (const heading of ['Name', 'Description', 'Settings', 'Hooks', 'Endpoints', 'Commands', 'Examples'])
      assert.match(page, new RegExp(`^## ${heading}$`, 'm'), `${name}: ${heading}`)
    assert.match(read('README.md'), `plugins/${name}/README.md`)
  }
})

test('the commands of the README exist, and npm scripts it names too', () => {
  const commands = commandsOf(firstParty)
  for (const [, name = ''] of read('README.md').matchAll(/^\| `server ([a-z]+)/gm)) assert.ok(commands.has(name), name)
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const page of pages)
    for (const [, name = ''] of read(page).matchAll(/npm run ([\w:-]+)/g))
      assert.ok(name in scripts, `${page}: ${name}`)
})

test('the curl examples of the README are answered with 2xx in their order', async () => {
  const kernel = await createKernel({
    plugins: firstParty,
    settings: {
      database: { kind: 'memory' },
      conformance: { skip_default_packages: true, packages: [examplesFolder], update_as_create: true },
    },
    log: { level: 'silent' },
  })
  await kernel.start()
  for (const page of pages)
    for (const [, line = ''] of blocks(page, 'sh')
      .join('\n')
      .matchAll(/^curl (.+)$/gm)) {
      const url = /http:\/\/127\.0\.0\.1:8080(\S+)/.exec(line)?.[1] ?? ''
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
