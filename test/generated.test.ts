/** What the repository holds of generated files is what the declarations say now. */
import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import { Check } from 'typebox/schema'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { GENERATED, generatedFiles } from '../cli/docs/files.ts'
import { decode } from '../kernel/settings/decode.ts'
import { fromSources, type Table } from '../kernel/settings/layer.ts'
import { linesOf } from '../kernel/settings/lines.ts'
import { sectionsOf } from '../kernel/settings/sections.ts'
import { firstParty } from '../plugins/index.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

for (const path of GENERATED)
  test(`${path} is not stale`, () => {
    const now = generatedFiles(firstParty, read)[path]
    assert.ok(read(path) === now, `${path} is stale: run npm run generate`)
  })

test('the sample file is accepted, and sets nothing but the defaults', () => {
  const text = read('examples/server.toml')
  const file = { file: 'examples/server.toml', values: parse(text) as Table, lines: linesOf(text) }
  const sections = sectionsOf(firstParty, [])
  const values = (layered: Parameters<typeof decode>[1]) =>
    Object.fromEntries(
      decode(sections, layered)
        .report()
        .map(({ path, value }) => [path, value]),
    )
  assert.equal(values(fromSources({ file })), values(fromSources({})))
})

test('the sample file satisfies the JSON schema, and a misspelt key does not', () => {
  const schema = JSON.parse(read('schemas/server-toml.schema.json')) as object
  const sample = JSON.parse(JSON.stringify(parse(read('examples/server.toml')))) as Record<string, object>
  assert.ok(Check(schema, sample))
  assert.ok(Check(schema, { ...sample, plugin: { kafka: { topic: 'a' } } }))
  assert.not.ok(Check(schema, { ...sample, server: { ...sample.server, binds: 'x' } }))
  assert.not.ok(Check(schema, { ...sample, sever: {} }))
})

test.run()
