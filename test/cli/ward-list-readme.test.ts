/** The start lines of examples/ward-list/README.md, and those of examples/README.md: what is started and sent there works. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import cors from '../../plugins/cors/index.ts'
import database from '../../plugins/database/index.ts'
import probes from '../../plugins/probes/index.ts'
import sync from '../../plugins/sync/index.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { openSync } from '../support/sync-client.ts'
import { wardDefinitions } from '../support/ward-definitions.ts'
import { createWorld } from '../support/world.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const README = read('examples/ward-list/README.md')
const lines = [...README.matchAll(/^```bash\n([\s\S]*?)^```/gm)].flatMap(([, text = '']) => text.trim().split('\n'))
const START = 'npm start -- --config examples/ward-list/server.toml'

/** Words of a command line; quotes are single, as in the examples. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

/** Sends what a curl command sends, to another address. */
const curl = (line: string, address: string): Promise<Response> => {
  const words = wordsOf(line)
  const after = (flag: string): string | undefined =>
    words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined
  const data = after('-d') as string
  const [name = '', value = ''] = after('-H')?.split(': ') ?? []
  return fetch((words.at(-1) as string).replace('http://127.0.0.1:8080', address), {
    method: after('-X') ?? 'POST',
    headers: { [name]: value },
    body: data.startsWith('@') ? read(data.slice(1)) : data,
  })
}

test('the server starts with the settings of the example, lets its page in, and takes what is sent', async () => {
  assert.equal(
    lines.filter((line) => !line.startsWith('curl ')),
    [START, 'npm run example:ward-list'],
  )
  const home = createWorld()
  const argv = wordsOf(START.replace('examples/', join(root, 'examples/'))).slice(3)
  const statuses: number[] = []
  const shown: number[] = []
  const world = createWorld({
    folder: home.folder,
    argv: [...argv, '--bind', '127.0.0.1:0', '--sqlite', join(home.folder, 'a.sqlite')],
    environment: { SERVER_SKIP_DEFAULT_PACKAGES: 'true' },
    plugins: [database, wardDefinitions, ...fhirPlugins, probes, cors, sync],
    onWrite: async ({ send }, text) => {
      if (!text.includes('"ready"')) return
      const [address = ''] = /http:\/\/[^\s/"]+/.exec(text) ?? []
      for (const line of lines.filter((one) => one.startsWith('curl '))) {
        statuses.push((await curl(line, address)).status)
        const client = await openSync(address, { headers: { origin: 'http://127.0.0.1:3001' } })
        await client.subscribe('ward', 'Encounter?status=in-progress&location=Location/3b')
        shown.push(client.sets.get('ward')?.size ?? 0)
        await client.close()
      }
      send('SIGTERM')
    },
  })
  const { code, stdout, stderr } = await world.run()
  home.remove()
  assert.is(code, 0, stdout + stderr)
  assert.equal(statuses, [200, 200])
  assert.equal(shown, [3, 2])
})

test('the page is served by the script and at the address that are named, and the page of examples has the same lines', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  assert.is(scripts['example:ward-list'], 'node test/support/ward-list-server.ts')
  assert.match(read('test/support/ward-list-server.ts'), 'PORT = 3001')
  assert.match(README, 'http://127.0.0.1:3001/?ward=3b')
  for (const line of [START, 'npm run example:ward-list']) assert.match(read('examples/README.md'), line)
})

test.run()
