/** A code system in memory and the same one in the tables give the same answers, on every kind of database. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, createMemoryBudget, definePlugin, defineService, type Kernel } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Database } from '../../../plugins/database/service.ts'
import { type ConceptFacts, readCodeSystem, type SystemHeader } from '../../../plugins/terminology/code-system.ts'
import type { ConceptSource } from '../../../plugins/terminology/concept-source.ts'
import { UnsupportedFilter, type ValueSetFilter } from '../../../plugins/terminology/filter.ts'
import { createIndexedSource, createKeptPlaces } from '../../../plugins/terminology/indexed/indexed-source.ts'
import { createLoadConcepts } from '../../../plugins/terminology/indexed/load-concepts.ts'
import { loadedConcepts } from '../../../plugins/terminology/indexed/loaded-concept.ts'
import { createRowsWriter } from '../../../plugins/terminology/indexed/rows-writer.ts'
import { readLoaded, type SystemRow, terminologyMigrations } from '../../../plugins/terminology/indexed/tables.ts'
import { createMemorySource } from '../../../plugins/terminology/memory-source.ts'
import { databaseKinds } from '../../support/database-kinds.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { randomCodeSystem, seeded, WORDS } from '../../support/random-code-system.ts'

const SYSTEMS = 12 // on each kind of database
const Tables = defineService<true>('tables')
const tables = definePlugin({
  name: 'terminology',
  needs: { database: Database },
  provides: [Tables],
  migrations: terminologyMigrations,
  setup: ({ provide }) => provide(Tables, true),
})

const HEADER = ({ concepts: _concepts, find: _find, ...header }: ReturnType<typeof readCodeSystem>): SystemHeader =>
  header
const FILTERS: readonly (readonly [property: string, op: string])[] = [
  ...['is-a', 'descendent-of', 'is-not-a', 'generalizes', '=', 'in', 'not-in'].map((op) => ['concept', op] as const),
  ...['display', 'definition', 'like', 'parent', 'child', 'kind', 'weight', 'code', 'nothing'].flatMap((property) =>
    ['=', 'in', 'not-in', 'regex', 'exists'].map((op) => [property, op] as const),
  ),
  ['code', 'no-such-operator'],
  ['display', 'is-a'],
]

const messageOf = async (work: () => unknown): Promise<string> => {
  try {
    await work()
  } catch (error) {
    if (error instanceof UnsupportedFilter) return error.message
    throw error
  }
  return 'no error'
}

/** What a question gives, as text: the codes of places, or why there are none. */
const selected = async (source: ConceptSource, filter: ValueSetFilter): Promise<string> => {
  try {
    const places = (await source.select(filter)).slice(0, source.size)
    return (await source.at(places)).map(({ code }) => code).join()
  } catch (error) {
    if (error instanceof UnsupportedFilter) return error.message
    throw error
  }
}

for (const kind of databaseKinds()) {
  const test = suite<{ kernel: Kernel; db: Database; remove(): Promise<void> }>(`sources on ${kind.name}`)
  test.before(async (context) => {
    const { settings, remove } = await kind.fresh()
    context.kernel = await createKernel({ plugins: [database, tables], settings, log: { level: 'silent' } })
    await context.kernel.start()
    context.db = context.kernel.get(Database)
    context.remove = remove
  })
  test.after(async ({ kernel, remove }) => {
    await kernel.stop()
    await remove()
  })

  const both = async (db: Database, seed: number) => {
    const { resource, codes } = randomCodeSystem(seeded(seed), `http://random.example/${seed}`)
    const system = readCodeSystem(resource)
    const writer = createRowsWriter(db, createManualClock(0))
    const load = createLoadConcepts(
      db,
      () => writer,
      () => undefined,
    )
    const header = HEADER(system)
    await load({ source: 'load', name: header.url, edition: '1', header }, async function* (from) {
      for (const [at, batch] of [...loadedConcepts(system, 7)].entries()) if (at >= from) yield batch
    })
    const [row] = await db.all<SystemRow>(readLoaded, [header.url])
    assert.is(row?.size, system.concepts.size)
    const stored = JSON.parse((row as SystemRow).header) as SystemHeader
    return {
      codes,
      memory: createMemorySource(system),
      indexed: createIndexedSource(
        db,
        { id: row!.id, size: row!.size, header: stored },
        createKeptPlaces(createMemoryBudget(undefined)),
      ),
    }
  }

  for (let seed = 1; seed <= SYSTEMS; seed += 1)
    test(`code system ${seed} answers the same`, async ({ db }) => {
      const { memory, indexed, codes } = await both(db, seed)
      const random = seeded(seed + 1000)
      const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
      const asked = [...codes, ...codes.map((code) => code.toLowerCase()), 'none']
      for (const code of asked) {
        const [here, there] = [await memory.find(code), await indexed.find(code)]
        const facts = (found: ConceptFacts | undefined) => {
          if (found === undefined) return undefined
          const { parents: _parents, children: _children, ...own } = found as ConceptFacts & Record<string, unknown>
          return { ...own, properties: [...found.properties] }
        }
        assert.equal(facts(there), facts(here), code)
        if (here === undefined || there === undefined) continue
        for (const direction of ['parents', 'children'] as const)
          assert.equal(await indexed.linked(there, direction), await memory.linked(here, direction), direction)
        for (const direction of ['above', 'below'] as const) {
          const sorted = async (source: ConceptSource) => [...(await source.related(here, direction, 1000))].sort()
          assert.equal(await sorted(indexed), await sorted(memory), `${direction} ${code}`)
          assert.is((await indexed.related(there, direction, 0)).length, 1)
        }
        const other = memory.find(one(codes))!
        assert.is(await indexed.isWithin(there, other), await memory.isWithin(here, other))
      }
      const all = await indexed.findAll(asked)
      assert.equal([...all.keys()].sort(), [...(await memory.findAll(asked)).keys()].sort())
      const places = Array.from({ length: memory.size }, (_, place) => place)
      assert.equal(await indexed.parentsOf(places), await memory.parentsOf(places))
      for (const [property, op] of FILTERS) {
        const value =
          op === 'exists'
            ? one(['true', 'false'])
            : op === 'regex'
              ? one(['A.*', '.*ea.*', '[a-z]+', '1|2', 'k'])
              : op.includes('in') && op !== 'is-a'
                ? `${one(asked)},${one(WORDS)}, ${one(asked)}`
                : one([...asked, ...WORDS, '0.5', 'k'])
        const filter = { property, op, value }
        assert.is(await selected(indexed, filter), await selected(memory, filter), JSON.stringify(filter))
      }
      for (const mark of ['inactive', 'abstract'] as const)
        assert.equal((await indexed.marked(mark)).slice(0, 100), (await memory.marked(mark)).slice(0, 100))
      for (const text of [
        '',
        'a',
        'HE',
        'heart b',
        'é',
        'e',
        '100%',
        '_',
        '%',
        'stras',
        'STRASSE',
        'ray',
        'x-r',
        '(left',
        'lef',
        'tab next',
        one(codes),
        'c D',
      ])
        for (const language of [undefined, 'de', 'de-AT', 'FR', 'en'])
          assert.equal(
            (await indexed.matching(text, language)).slice(0, 100),
            (await memory.matching(text, language)).slice(0, 100),
            `${text} in ${language}`,
          )
      const bad = { property: 'code', op: 'regex', value: '(a+)+' }
      assert.is(await messageOf(() => indexed.select(bad)), await messageOf(() => memory.select(bad)))
    })

  test.run()
}
