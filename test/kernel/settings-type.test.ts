/** The builders and the check of settings say what TypeBox says, without loading it. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { Type as TypeBox } from 'typebox'
import { Check } from 'typebox/schema'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { SettingSchema } from '../../kernel/settings/annotation.ts'
import { meets } from '../../kernel/settings/meets.ts'
import { Type } from '../../kernel/settings/type.ts'
import { firstParty } from '../../plugins/index.ts'

/** With the marks that are not enumerable. */
const shown = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shown)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(Object.getOwnPropertyDescriptors(value))
    .map(([key, one]) => [key, shown(one.value), one.enumerable] as const)
    .sort(([one], [other]) => one.localeCompare(other))
}

const SAMPLES: readonly (readonly [string, (type: typeof Type) => unknown])[] = [
  ['strings', (type) => type.String({ minLength: 1, env: 'X' })],
  ['numbers', (type) => [type.Integer({ minimum: 0 }), type.Number(), type.Number({ maximum: 2 })]],
  ['booleans and anything', (type) => [type.Boolean({ default: true }), type.Unknown({ description: 'x' })]],
  ['literals', (type) => [type.Literal('a'), type.Literal(1), type.Literal(true, { flag: 'x' })]],
  ['unions', (type) => type.Union([type.Literal('a'), type.Literal('b')], { default: 'a' })],
  ['lists', (type) => type.Array(type.String({ pattern: '^a' }), { default: [], maxItems: 3 })],
  ['maps', (type) => type.Record(type.String(), type.Object({ a: type.Integer() }), { default: {} })],
  ['maps by pattern', (type) => type.Record(type.String({ pattern: '^[a-z]+$' }), type.Boolean())],
  ['tables', (type) => type.Object({ a: type.Optional(type.String()), b: type.Integer() }, { whenPresent: { b: 1 } })],
  ['tables without required keys', (type) => type.Object({ a: type.Optional(type.Boolean({ secret: true })) })],
]

for (const [name, build] of SAMPLES)
  test(`${name} are built as TypeBox builds them`, () => {
    assert.equal(shown(build(Type)), shown(build(TypeBox as unknown as typeof Type)))
  })

test('an optional schema is a copy', () => {
  const plain = Type.String()
  assert.ok('~optional' in Type.Optional(plain))
  assert.not.ok('~optional' in plain)
})

const VALUES: readonly unknown[] = [
  ...[undefined, null, true, false, '', 'a', 'b', 'abc', '🙂', '🙂🙂', 'x\ny', '12', '1.5'],
  ...[0, -0, 1, -1, 1.5, 2, 3, 10, 1e21, Number.NaN, Number.POSITIVE_INFINITY, 10n],
  ...[[], ['a'], ['a', 'a'], ['a', 1], [1, 2, 3, 4], [[]], {}, { a: 1 }, { a: 'a' }, Object.create(null)],
]

const SCHEMAS: readonly SettingSchema[] = [
  {},
  ...['string', 'integer', 'number', 'boolean', 'array', 'object', 'null'].map((type) => ({ type })),
  { const: 'a' },
  { const: 1 },
  { type: 'number', const: 0 },
  { enum: ['a', 1, null, false] },
  {
    anyOf: [
      { type: 'string', const: 'a' },
      { type: 'integer', minimum: 2 },
    ],
  },
  { anyOf: [] },
  { type: 'string', pattern: '^a' },
  { pattern: '^.$' },
  { type: 'string', minLength: 1, maxLength: 1 },
  { minLength: 2 },
  { minimum: 1, maximum: 2 },
  { type: 'number', exclusiveMinimum: 1, exclusiveMaximum: 10 },
  { type: 'integer', multipleOf: 2 },
  { type: 'array', items: { type: 'string' }, minItems: 1 },
  { type: 'array', items: { type: 'array' } },
  { maxItems: 1 },
  { items: { type: 'integer', minimum: 1 } },
  { type: 'string', format: 'ipv4' },
  { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
  { type: 'array', uniqueItems: true } as SettingSchema,
  { not: { type: 'string' } } as SettingSchema,
]

test('a value meets a schema where TypeBox says so', () => {
  for (const schema of SCHEMAS)
    for (const value of VALUES)
      assert.is(meets(schema, value), Check(schema as object, value), `${JSON.stringify(schema)} ${inspect(value)}`)
})

test('the settings of all plugins are checked without TypeBox', () => {
  const script = `
    import { firstParty } from './plugins/index.ts'
    import { decode } from './kernel/settings/decode.ts'
    import { fromSources } from './kernel/settings/layer.ts'
    import { sectionsOf } from './kernel/settings/sections.ts'
    decode(sectionsOf(firstParty, []), fromSources({ file: undefined, environment: {}, flags: {} }))`
  const watch = `data:text/javascript,${encodeURIComponent(
    "import { registerHooks } from 'node:module'; registerHooks({ load(url, context, next) { if (url.includes('typebox')) { console.log(url) } return next(url, context) } })",
  )}`
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--import', watch, '--input-type=module-typescript', '-e', script],
    { cwd: fileURLToPath(new URL('../..', import.meta.url)), encoding: 'utf8' },
  )
  assert.is(status, 0, stderr)
  assert.is(stdout, '')
  assert.ok(firstParty.length > 0)
})

test.run()
