/** What a ruling says without looking at data, and what is refused as no restriction. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ALL, type Restriction, Ruling, ServerError } from '../../kernel/index.ts'

const ruled = (...restrictions: readonly Restriction[]): Ruling => {
  const ruling = new Ruling()
  for (const one of restrictions) ruling.restrict(one)
  return ruling
}
const p1 = { type: 'Patient', id: 'p1' }

test('with no restriction every right holds on everything', () => {
  const ruling = ruled()
  assert.is(ruling.extent('Patient', 'd'), 'all')
  assert.ok(ruling.covers())
})

test('grants of one restriction add up: any of them is sufficient', () => {
  const ruling = ruled({
    types: {
      Observation: [{ rights: 'rs', compartment: p1 }, { rights: 'c' }, { rights: 'r', query: 'status=final' }],
    },
    others: [],
  })
  assert.equal(
    (['c', 'r', 'u', 'd', 's'] as const).map((right) => ruling.extent('Observation', right)),
    ['all', 'some', 'none', 'none', 'some'],
  )
  assert.is(ruling.extent('Patient', 'r'), 'none')
})

test('restrictions narrow each other, whoever makes them', () => {
  const some: Restriction = { types: { Observation: [{ rights: 'cruds', compartment: p1 }] }, others: [ALL] }
  const reading: Restriction = { types: {}, others: [{ rights: 'rs' }] }
  assert.is(ruled(some, reading).extent('Observation', 'r'), 'some')
  assert.is(ruled(some, reading).extent('Observation', 'u'), 'none')
  assert.is(ruled(some, reading).extent('Patient', 's'), 'all')
  assert.not.ok(ruled(some, reading).covers(['r']))
  assert.ok(ruled(reading).covers(['r', 's']))
  assert.not.ok(ruled(reading).covers())
})

test('a name every object has is no type that is granted', () => {
  assert.is(ruled({ types: {}, others: [] }).extent('constructor', 'r'), 'none')
})

const MALFORMED: Readonly<Record<string, unknown>> = {
  nothing: undefined,
  'a list': [],
  'types of kernel API 1': { types: ['Observation'] },
  'a compartment of kernel API 1': { compartment: p1 },
  'conditions of kernel API 1': { conditions: [{ type: 'Observation', query: 'status=final' }] },
  'no others': { types: {} },
  'no types': { others: [] },
  'others that are no list': { types: {}, others: ALL },
  'a member that is not known': { types: {}, others: [], type: {} },
  'rights in another order': { types: {}, others: [{ rights: 'sr' }] },
  'rights that are none': { types: {}, others: [{ rights: 'read' }] },
  'no rights': { types: {}, others: [{}] },
  'an empty query': { types: { Patient: [{ rights: 'r', query: '' }] }, others: [] },
  'a member of a grant that is not known': { types: {}, others: [{ rights: 'r', querry: 'a=b' }] },
  'a compartment without an id': { types: {}, others: [{ rights: 'r', compartment: { type: 'Patient' } }] },
  'a header that is no text': { types: {}, others: [], headers: { 'www-authenticate': 1 } },
}
for (const [what, value] of Object.entries(MALFORMED))
  test(`${what} is a 500, whose reason only the operator reads, and never an open ruling`, () => {
    const ruling = new Ruling()
    try {
      ruling.restrict(value as Restriction)
      assert.unreachable()
    } catch (error) {
      assert.instance(error, ServerError)
      const { status, key, extras } = error as ServerError
      assert.equal([status, key], [500, 'kernel/restriction-malformed'])
      assert.type(extras.detail, 'string')
    }
    assert.is(ruling.restrictions.length, 0)
  })

test('a restriction in use cannot be changed any more', () => {
  const grants = [{ rights: 'r' as const }]
  const types: Record<string, { rights: 'r' }[]> = { Patient: grants }
  ruled({ types, others: [] })
  assert.throws(() => grants.push({ rights: 'r' }))
  assert.throws(() => {
    types.Observation = grants
  })
})

test.run()
