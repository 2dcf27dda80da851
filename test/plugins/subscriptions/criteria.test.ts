/** Which criteria a version is tested against. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Matcher, Session } from '../../../plugins/fhir/service.ts'
import { createCriteria } from '../../../plugins/subscriptions/criteria.ts'
import type { StateRow } from '../../../plugins/subscriptions/tables.ts'

const row = (id: string, version = 1, since = 0): StateRow =>
  ({ id, version, type: 'Observation', since, status: 'active', caller: '{}', restrictions: '[]' }) as StateRow

/** Criteria `…?[key]` match resources that have the key; `…?all` matches every one and has no key. */
const world = () => {
  const tested: string[] = []
  const meaning = { isCurrent: true }
  const state = { meaning, broken: new Set<string>() }
  const unusable: string[] = []
  const session = {
    async matches(_type: string, query: string): Promise<Matcher> {
      if (state.broken.has(query)) throw new Error(`${query} is broken`)
      return {
        type: 'Observation',
        keys: query === 'all' ? undefined : [Number(query)],
        restrictions: [],
        meaning: state.meaning,
        test: ({ keys }) => {
          tested.push(query)
          return query === 'all' || keys.includes(Number(query))
        },
      }
    },
  } as unknown as Session
  const criteria = createCriteria({
    server: {
      // A Subscription `s[key]` has the criteria of its key, an Observation the key of its id.
      read: async (type: string, id: string) => ({
        ...{ type, id },
        parse: () => (type === 'Subscription' ? { criteria: `Observation?${id.slice(1)}` } : {}),
      }),
      subject: ({ id }: { id: string }) => ({ type: 'Observation', id, keys: [Number(id)] }),
    } as never,
    ownerSession: () => session,
    unusable: async ({ id }) => void unusable.push(id),
  })
  const matching = async (id: string, seq = 1): Promise<readonly string[]> =>
    (await criteria.matching({ seq, type: 'Observation', id, version: 1 })).map((one) => one.id)
  return { criteria, matching, tested, state, unusable }
}
const thousand = Array.from({ length: 1_000 }, (_, at) => row(`s${at + 1}`))

test('a version is tested against the criteria with one of its keys, and those without a key', async () => {
  const { criteria, matching, tested } = world()
  await criteria.prepare([...thousand, row('sall')])
  assert.equal([...(await matching('7'))].sort(), ['s7', 'sall'])
  assert.equal(tested.sort(), ['7', 'all'])
})

test('a Subscription gets no change from before it began, and none after it has ended', async () => {
  const { criteria, matching } = world()
  await criteria.prepare([row('s7', 1, 5)])
  assert.equal(await matching('7', 5), [])
  assert.equal(await matching('7', 6), ['s7'])
  await criteria.prepare([])
  assert.equal(await matching('7', 6), [])
})

test('criteria are compiled again when their meaning has changed, and those that are unusable then are reported', async () => {
  const { criteria, matching, state, unusable } = world()
  await criteria.prepare([row('s7'), row('s8')])
  state.meaning.isCurrent = false
  assert.not.ok(criteria.areCurrent)
  state.meaning = { isCurrent: true }
  state.broken.add('8')
  await criteria.prepare([row('s7'), row('s8')])
  assert.ok(criteria.areCurrent)
  assert.equal(unusable, ['s8'])
  assert.equal([await matching('7'), await matching('8')], [['s7'], []])
})

test.run()
