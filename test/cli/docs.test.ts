/** The generated documents, on declarations that have one of each kind. */
import { parse } from 'smol-toml'
import { Type } from 'typebox'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { between } from '../../cli/docs/between.ts'
import { generatedFiles } from '../../cli/docs/files.ts'
import { defineError, definePlugin } from '../../kernel/index.ts'
import { decode } from '../../kernel/settings/decode.ts'
import { fromSources, type Table } from '../../kernel/settings/layer.ts'
import { linesOf } from '../../kernel/settings/lines.ts'
import { sectionsOf } from '../../kernel/settings/sections.ts'
import { shop } from '../support/shop.ts'

const limits = definePlugin({
  name: 'limits',
  config: {
    limit: Type.Object(
      {
        enabled: Type.Boolean({ default: false, description: 'Switch.' }),
        cost: Type.Object(
          { read: Type.Number({ default: 1, description: 'Units of a read.' }), write: Type.Number({ default: 2 }) },
          { default: {}, description: 'Units per request.' },
        ),
        clients: Type.Record(Type.String(), Type.Object({ burst: Type.Optional(Type.Number()) }), {
          default: {},
          sample: { 'my app': { burst: 3 } },
          description: 'Per client <id>.',
        }),
        after: Type.Integer({ default: 3, description: 'Comes after the tables, a|b.' }),
      },
      { whenPresent: { enabled: true } },
    ),
  },
  errors: {
    TooMany: defineError('limits/too-many', 429, 'throttled', 'Too many requests; wait %s seconds.'),
    Broken: defineError('limits/broken', 500, 'exception', 'Not an answer.'),
  },
  setup: () => undefined,
})
const page = (name: string): string => `# x
<!-- generated: ${name} -->
old
<!-- /generated -->
end
`
const PAGES: Readonly<Record<string, string>> = {
  'cli/README.md': page('settings'),
  'kernel/README.md': page('status codes'),
  'plugins/search/README.md': page('search'),
}
const plugins = [shop(), limits]
const files = generatedFiles(plugins, (path) => PAGES[path] as string)
const sample = files['examples/server.toml']
const settingsPage = files['cli/README.md']
const statusPage = files['kernel/README.md']

test('the sample file is TOML that decodes to the defaults, though its sections are written', () => {
  const sections = sectionsOf(plugins, [])
  const file = { file: 's', values: parse(sample) as Table, lines: linesOf(sample) }
  const written = decode(sections, fromSources({ file }))
  const without = decode(sections, fromSources({}))
  for (const section of ['shop', 'limit', 'server'])
    assert.is(JSON.stringify(written.section(section)), JSON.stringify(without.section(section)))
})

test('the sample file has each setting with its sentence, flag and variable', () => {
  assert.match(sample, '# Open tills. [SHOP_TILLS, --tills]\ntills = 2\n')
  assert.match(sample, '# Path of the stock file. [--file]\n# path = "/var/lib/shop"\n')
  assert.match(sample, '[limit.cost]\nread = 1\nwrite = 2\n')
  assert.match(sample, '# [limit.clients."my app"]\n# burst = 3\n')
})

test('the sample file says where a secret belongs that is kept out of it', () => {
  assert.match(sample, '# The key of the door. Not in this file: [SHOP_KEY]\n')
  assert.not.match(sample, /^#? ?key =/m)
})

test('the comments stay readable without a horizontal scroll bar', () => {
  for (const line of sample.split('\n')) assert.ok(line.length <= 120, line)
})

test('the JSON schema knows neither our annotations nor what is kept out of the file', () => {
  const schema = files['schemas/server-toml.schema.json']
  const { shop: section, limit } = (JSON.parse(schema) as any).properties
  assert.equal(section.properties.kind.enum, ['memory', 'file', 'postgres'])
  assert.is(section.properties.key, undefined)
  assert.not.match(schema, /"(env|flag|flagSets|flagValues|secret|sample|whenPresent)":/)
  assert.is(section.additionalProperties, false)
  assert.is(limit.properties.cost.required, undefined)
})

test('the page of settings has each one, also those inside tables and maps', () => {
  assert.match(settingsPage, '### [limit]')
  assert.match(settingsPage, '| `tills` | an integer of at least 1 | `2` | `SHOP_TILLS` `--tills` | Open tills. |')
  assert.match(settingsPage, '| `cost.read` | a number | `1` |  | Units of a read. |')
  assert.match(settingsPage, '| `clients.<name>.burst` | a number |  |  |  |')
  assert.match(settingsPage, 'The key of the door. Not in the file.')
})

test('what Markdown would take as a cell or a tag is escaped', () => {
  assert.match(settingsPage, 'Comes after the tables, a\\|b.')
  assert.match(settingsPage, 'Per client &lt;id>.')
})

test('the page of status codes has each answer by its status, and no fault of the start', () => {
  assert.match(statusPage, '| 429 | `limits/too-many` | `throttled` | Too many requests; wait … seconds. |')
  assert.match(statusPage, '| 500 | `kernel/internal` |')
  assert.not.match(statusPage, 'limits/broken')
  assert.not.match(statusPage, 'kernel/plugin-cycle')
  const statuses = [...statusPage.matchAll(/^\| (\d{3}) /gm)].map(([, status]) => Number(status))
  assert.equal(
    statuses,
    statuses.toSorted((a, b) => a - b),
  )
})

test('generating again changes nothing, and leaves what stands around it', () => {
  const again = generatedFiles(plugins, (path) => files[path])
  for (const path of Object.keys(PAGES) as (keyof typeof files)[]) {
    assert.is(again[path], files[path])
    assert.match(files[path], /^# x\n/)
    assert.match(files[path], /\nend\n$/)
    assert.not.match(files[path], /^old$/m)
  }
})

test('a text without the marks is refused', () => {
  assert.throws(() => between('# x', 'settings', 'y'), 'There is no <!-- generated: settings -->')
})

test.run()
