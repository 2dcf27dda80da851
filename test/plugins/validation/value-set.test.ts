/** Which value sets are known code by code. https://hl7.org/fhir/R4/valueset.html; bad input row 80 (cycles). */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createValueSets } from '../../../plugins/validation/rules/value-set.ts'

const system = (name: string, codes: readonly unknown[], more: object = {}) => ({
  resourceType: 'CodeSystem',
  url: `http://x/cs/${name}`,
  content: 'complete',
  concept: codes.map((code) => (typeof code === 'string' ? { code } : code)),
  ...more,
})
const set = (name: string, include: readonly object[], exclude?: readonly object[]) => ({
  resourceType: 'ValueSet',
  url: `http://x/vs/${name}`,
  compose: { include, ...(exclude && { exclude }) },
})
const cs = (name: string, ...codes: string[]) => ({
  system: `http://x/cs/${name}`,
  ...(codes.length > 0 && { concept: codes.map((code) => ({ code })) }),
})
const vs = (...names: string[]) => ({ valueSet: names.map((name) => `http://x/vs/${name}`) })
const isA = (value: string, op = 'is-a', property = 'concept') => ({
  ...cs('tree'),
  filter: [{ property, op, value }],
})

const TREE = [
  { code: 'animal', concept: [{ code: 'dog', concept: [{ code: 'poodle' }] }, { code: 'cat' }] },
  { code: 'plant' },
]

const setsOf = (...definitions: { readonly resourceType: string; readonly url: string }[]) => {
  const asked: string[] = []
  const expand = createValueSets((type, canonical) => {
    asked.push(canonical)
    return definitions.find((one) => one.resourceType === type && canonical === one.url)
  })
  return { asked, of: (name: string) => expand(`http://x/vs/${name}`) }
}

/** The codes of `a`, `b`, … that the value set has, as `system#code`. */
const held = (known: { has(code: string, system?: string): boolean } | null | undefined, ...candidates: string[]) =>
  candidates.filter((one) => {
    const [name, code] = one.split('#') as [string, string]
    return known?.has(code, `http://x/cs/${name}`)
  })

test('enumerated codes, of systems that need not be installed', () => {
  const known = setsOf(set('a', [cs('s', 'x', 'y'), cs('t', 'z')])).of('a')
  assert.equal(held(known, 's#x', 's#y', 't#z', 's#z', 't#x', 'u#x'), ['s#x', 's#y', 't#z'])
  assert.ok(known?.has('x') && known.has('z') && !known.has('q'))
  assert.is(known?.size, 3)
})

test('a whole code system, nested concepts too', () => {
  const known = setsOf(system('tree', TREE), set('a', [cs('tree')])).of('a')
  assert.equal(held(known, 'tree#animal', 'tree#poodle', 'tree#cat', 'tree#fish'), [
    'tree#animal',
    'tree#poodle',
    'tree#cat',
  ])
})

test('what is below a concept, with and without it, and what is not', () => {
  const all = ['tree#animal', 'tree#dog', 'tree#poodle', 'tree#cat', 'tree#plant']
  const of = (include: object) => held(setsOf(system('tree', TREE), set('a', [include])).of('a'), ...all)
  assert.equal(of(isA('dog')), ['tree#dog', 'tree#poodle'])
  assert.equal(of(isA('animal', 'descendent-of')), ['tree#dog', 'tree#poodle', 'tree#cat'])
  assert.equal(of(isA('dog', 'is-not-a')), ['tree#animal', 'tree#cat', 'tree#plant'])
  assert.equal(of(isA('dog,plant', 'in', 'code')), ['tree#dog', 'tree#plant'])
  assert.equal(of(isA('plant', '=', 'code')), ['tree#plant'])
})

test('value sets of value sets: one include unites with the next, and narrows within itself', () => {
  const definitions = [set('a', [cs('s', 'x', 'y')]), set('b', [cs('s', 'y', 'z')])]
  const of = (...include: object[]) => held(setsOf(...definitions, set('c', include)).of('c'), 's#x', 's#y', 's#z')
  assert.equal(of(vs('a'), vs('b')), ['s#x', 's#y', 's#z'])
  assert.equal(of(vs('a', 'b')), ['s#y'])
  assert.equal(of({ ...cs('s', 'x', 'z'), ...vs('a') }), ['s#x'])
})

test('what is excluded is not in it', () => {
  const definitions = [system('tree', TREE), set('b', [cs('tree', 'cat')])]
  const known = setsOf(...definitions, set('a', [cs('tree')], [cs('tree', 'plant'), vs('b')])).of('a')
  assert.equal(held(known, 'tree#dog', 'tree#cat', 'tree#plant'), ['tree#dog'])
})

test('case does not matter where the system says so', () => {
  const folding = system('s', ['Abc'], { caseSensitive: false })
  assert.equal(held(setsOf(folding, set('a', [cs('s')])).of('a'), 's#abc', 's#ABC', 's#x'), ['s#abc', 's#ABC'])
  assert.equal(held(setsOf(system('s', ['Abc']), set('a', [cs('s')])).of('a'), 's#abc', 's#Abc'), ['s#Abc'])
})

test('a stored expansion counts when there is nothing to compose', () => {
  const contains = [{ system: 'http://x/cs/s', code: 'x', contains: [{ system: 'http://x/cs/s', code: 'y' }] }]
  const expanded = (more: object = {}) => ({
    resourceType: 'ValueSet',
    url: 'http://x/vs/a',
    expansion: { contains, ...more },
  })
  assert.equal(held(setsOf(expanded()).of('a'), 's#x', 's#y', 's#z'), ['s#x', 's#y'])
  assert.is(setsOf(expanded({ offset: 0 })).of('a'), undefined)
})

test('what cannot be enumerated is not known, rather than empty', () => {
  const unknown: Record<string, readonly { readonly resourceType: string; readonly url: string }[]> = {
    'a value set that is not installed': [],
    'a system that is not installed': [set('a', [cs('s')])],
    'a fragment of a system': [system('s', ['x'], { content: 'fragment' }), set('a', [cs('s')])],
    'a supplement': [system('s', ['x'], { content: 'supplement' }), set('a', [cs('s')])],
    'a part that is not installed': [set('a', [cs('t', 'x'), vs('b')])],
    'an exclusion that is not installed': [set('a', [cs('t', 'x')], [vs('b')])],
    'a filter by a property': [system('tree', TREE), set('a', [isA('x', '=', 'colour')])],
    'a filter by a regular expression': [system('tree', TREE), set('a', [isA('d.*', 'regex')])],
    'a hierarchy with second parents': [
      system('tree', TREE, { property: [{ code: 'parent', type: 'code' }] }),
      set('a', [isA('animal')]),
    ],
    'nothing at all': [set('a', [])],
    'an include of nothing': [set('a', [{}])],
  }
  for (const [why, definitions] of Object.entries(unknown)) assert.is(setsOf(...definitions).of('a'), undefined, why)
})

test('circles of value sets end', () => {
  assert.is(setsOf(set('a', [vs('a')])).of('a'), undefined)
  assert.is(setsOf(set('a', [vs('b')]), set('b', [vs('c')]), set('c', [vs('a')])).of('a'), undefined)
})

test('value sets that double with each level end too', () => {
  const levels = (count: number) => [
    ...Array.from({ length: count }, (_, at) => set(`l${at}`, [vs(`l${at + 1}`), vs(`l${at + 1}`)])),
    set(`l${count}`, [cs('s', 'x')]),
  ]
  const few = setsOf(...levels(19))
  assert.equal(held(few.of('l0'), 's#x'), ['s#x'])
  assert.ok(few.asked.length < 100, String(few.asked.length))
  assert.is(setsOf(...levels(60)).of('l0'), undefined)
})

test('a system of more codes than are worth their memory is not known', () => {
  const codes = Array.from({ length: 60_000 }, (_, at) => `c${at}`)
  assert.is(setsOf(system('s', codes), set('a', [cs('s')])).of('a'), undefined)
})

test('a version that is not installed gives way to the one that is', () => {
  const { of } = setsOf(system('s', ['x']), set('a', [{ ...cs('s'), version: '7' }]))
  assert.equal(held(of('a'), 's#x'), ['s#x'])
})

test('what is still to be loaded gives no answer, and is asked again', () => {
  let isLoaded = false
  const expand = createValueSets((type) => (isLoaded && type === 'ValueSet' ? set('a', [cs('s', 'x')]) : null))
  assert.is(expand('http://x/vs/a'), null)
  isLoaded = true
  assert.ok(expand('http://x/vs/a')?.has('x'))
})

test('a value set is expanded once', () => {
  const { of, asked } = setsOf(set('a', [cs('s', 'x')]))
  of('a')
  const before = asked.length
  of('a')
  assert.is(asked.length, before)
})

test.run()
