/** The layers: file < environment < flags, or a host's object; each value knows where it came from. Spec: Precedence. */

import { parse } from 'smol-toml'
import { Type } from 'typebox'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { OwnedSection } from '../../kernel/settings/annotation.ts'
import { decode } from '../../kernel/settings/decode.ts'
import { fromObject, fromSources, type Sources } from '../../kernel/settings/layer.ts'
import { linesOf } from '../../kernel/settings/lines.ts'

const sections: readonly OwnedSection[] = [
  {
    plugin: 'database',
    path: 'database',
    schema: Type.Object({
      kind: Type.Union([Type.Literal('sqlite'), Type.Literal('memory'), Type.Literal('postgres')], {
        default: 'sqlite',
        flagValues: { memory: 'memory' },
      }),
      sqlite_path: Type.String({ default: 'x.sqlite', flag: 'sqlite', flagSets: { 'database.kind': 'sqlite' } }),
      pool: Type.Integer({ default: 8, env: ['SERVER_POOL', 'POOL'], flag: 'pool' }),
      rate: Type.Number({ default: 1, env: 'SERVER_RATE' }),
    }),
  },
  {
    plugin: 'packages',
    path: 'conformance.more',
    schema: Type.Object({
      packages: Type.Array(Type.String(), { default: [], env: 'SERVER_PACKAGES', flag: 'package' }),
      ports: Type.Array(Type.Integer(), { default: [], env: 'SERVER_PORTS' }),
      on: Type.Boolean({ default: false, env: 'SERVER_ON', flag: 'on' }),
    }),
  },
]

const file = (text: string): NonNullable<Sources['file']> => ({
  file: 'server.toml',
  values: parse(text),
  lines: linesOf(text),
})
const reported = (sources: Sources) => {
  const all = decode(sections, fromSources(sources)).report()
  return (path: string) => {
    const { value, origin } = all.find((one) => one.path === path)!
    return { value, origin }
  }
}

test('a default has the origin default', () => {
  assert.equal(reported({})('database.pool'), { value: 8, origin: { source: 'default' } })
})

test('a value of the file has its line', () => {
  const at = reported({ file: file('[database]\n\npool = 3') })
  assert.equal(at('database.pool'), { value: 3, origin: { source: 'file', file: 'server.toml', line: 3 } })
  assert.equal(at('database.kind').origin, { source: 'default' })
})

test('the environment overrides the file, and a flag overrides both', () => {
  const sources = { file: file('[database]\npool = 3'), environment: { SERVER_POOL: '4' } }
  assert.equal(reported(sources)('database.pool'), {
    value: 4,
    origin: { source: 'environment', name: 'SERVER_POOL' },
  })
  assert.equal(reported({ ...sources, flags: { pool: '5' } })('database.pool'), {
    value: 5,
    origin: { source: 'flag', name: 'pool' },
  })
})

test('of several variables the first that is set counts, and an empty one is not set', () => {
  const environment = { SERVER_POOL: '', POOL: '6' }
  assert.equal(reported({ environment })('database.pool').origin, { source: 'environment', name: 'POOL' })
  assert.is(reported({ environment: { SERVER_POOL: '5', POOL: '6' } })('database.pool').value, 5)
})

test('the file keeps what neither environment nor flags set', () => {
  const at = reported({ file: file('[database]\npool = 3\nrate = 0.5'), flags: { pool: '4' } })
  assert.is(at('database.rate').value, 0.5)
})

test('a flag without value sets the value it stands for', () => {
  const at = reported({ file: file('[database]\nkind = "postgres"'), flags: { memory: true } })
  assert.equal(at('database.kind'), { value: 'memory', origin: { source: 'flag', name: 'memory' } })
})

test('a flag sets the other settings it implies, with itself as their origin', () => {
  const at = reported({ file: file('[database]\nkind = "postgres"'), flags: { sqlite: '/tmp/a.sqlite' } })
  assert.equal(at('database.kind'), { value: 'sqlite', origin: { source: 'flag', name: 'sqlite' } })
  assert.is(at('database.sqlite_path').value, '/tmp/a.sqlite')
})

for (const [text, value] of [
  ['true', true],
  ['1', true],
  ['TRUE', true],
  ['false', false],
  ['0', false],
] as const)
  test(`a variable "${text}" of a boolean is ${value}`, () => {
    assert.is(reported({ environment: { SERVER_ON: text } })('conformance.more.on').value, value)
  })

test('numbers are read as numbers', () => {
  assert.is(reported({ environment: { SERVER_RATE: '2.5' } })('database.rate').value, 2.5)
  assert.is(reported({ environment: { SERVER_RATE: '1e3' } })('database.rate').value, 1000)
})

for (const text of ['9007199254740993', '0x10', '1_000', '', ' 8', '1.5', 'NaN', 'Infinity', '1e999'])
  test(`"${text}" is no integer of a flag`, () => {
    assert.throws(() => decode(sections, fromSources({ flags: { pool: text } })), /--pool: \[database\] pool is/)
  })

test('a variable of an array is separated by commas, its items converted', () => {
  const at = reported({ environment: { SERVER_PACKAGES: 'a@1, b@2,', SERVER_PORTS: '1,2' } })
  assert.equal(at('conformance.more.packages').value, ['a@1', 'b@2'])
  assert.equal(at('conformance.more.ports').value, [1, 2])
})

test('a repeated flag of an array keeps its commas', () => {
  assert.equal(reported({ flags: { package: ['a,b', 'c'] } })('conformance.more.packages').value, ['a,b', 'c'])
})

test('a variable of a nested section makes the section', () => {
  const at = reported({ file: file('[conformance]\n'), environment: { SERVER_ON: '1' } })
  assert.is(at('conformance.more.on').value, true)
})

test('the layers below are not changed by those above', () => {
  const below = file('[database]\npool = 3')
  const layered = fromSources({ file: below, flags: { pool: '4' } })
  layered.declare(sections)
  assert.is((below.values.database as { pool: number }).pool, 3)
  assert.is((layered.values.database as { pool: number }).pool, 3)
  assert.is((layered.declare(sections).values.database as { pool: number }).pool, 4)
})

test('the places are the files that were read', () => {
  assert.equal(fromSources({}).places, [])
  assert.equal(fromSources({ file: file('') }).declare(sections).places, ['server.toml'])
})

test('a place inside a value has the origin of the value around it', () => {
  const text = '[database]\npool = 3\n[conformance.more]\nports = [\n1,\n2]'
  const layered = fromSources({ file: file(text), environment: { SERVER_PACKAGES: 'a' } }).declare(sections)
  assert.equal(layered.origin('conformance.more.ports.1'), { source: 'file', file: 'server.toml', line: 6 })
  assert.equal(layered.origin('database.pool.deep'), { source: 'file', file: 'server.toml', line: 2 })
  assert.equal(layered.origin('conformance.more.packages.0'), { source: 'environment', name: 'SERVER_PACKAGES' })
})

test("a host's object has the origin host where it has a value", () => {
  const layered = fromObject({ database: { pool: 2 } })
  assert.equal(layered.origin('database.pool'), { source: 'host' })
  assert.equal(layered.origin('smart.enabled'), { source: 'default' })
  assert.equal(layered.places, [])
})

test("a host's object is not read through its prototype", () => {
  const values = Object.create({ database: { pool: 99 } })
  assert.is(decode(sections, fromObject(values)).section('database').pool, 8)
})

test.run()
