/** A code system of the index as a `ConceptSource`: each question is a statement, and places are sets of bits. */
import { LRUCache } from 'lru-cache'
import type { MemoryBudget } from '../../../kernel/index.ts'
import type { Database, Sql, SqlParam } from '../../database/service.ts'
import type { ConceptFacts, Designation, PropertyValue, SystemHeader } from '../code-system.ts'
import { textOfProperty } from '../code-system.ts'
import type { ConceptSource } from '../concept-source.ts'
import { isOfLanguage } from '../display.ts'
import { formsOf, toMatchText, wordsOf } from '../match-text.ts'
import { PlaceSet } from '../place-set.ts'
import { keyOfCode } from './index-rows.ts'
import { createSelect } from './select.ts'
import {
  type ConceptRow,
  isAbove,
  type ListRow,
  readAbove,
  readBelow,
  readChildCodes,
  readConcept,
  readConcepts,
  readParentCodes,
  readParentPlaces,
  readPlaces,
  selectAbstract,
  selectCodesBeginning,
  selectCodesWith,
  selectInactive,
  selectMatching,
  selectMatchingInLanguage,
  selectMatchingInOwnLanguage,
} from './statements.ts'

const MIB = 1024 * 1024
const AT_ONCE = 500 // concepts of one statement, which runs on the main thread of SQLite
const COMMA = 44
const ZERO = 48

/** Sets of places that were asked for, by the number of the system and the question. A version never changes. */
export type KeptPlaces = LRUCache<string, PlaceSet>

export const createKeptPlaces = (memory: MemoryBudget): KeptPlaces =>
  new LRUCache({
    maxSize: memory.share(32 * MIB, { least: 4 * MIB, most: 128 * MIB }),
    sizeCalculation: (places, key) => places.weight + key.length + 100,
  })

/** Reads `3,17,4`. */
const readList = (size: number, list: string): PlaceSet => {
  const places = PlaceSet.none(size)
  let place = 0
  for (let at = 0; at < list.length; at += 1) {
    const character = list.charCodeAt(at)
    if (character !== COMMA) {
      place = place * 10 + character - ZERO
      continue
    }
    places.add(place)
    place = 0
  }
  if (list !== '') places.add(place)
  return places
}

const toConcept = ({ place, code, display, inactive, abstract, definition, body }: ConceptRow): ConceptFacts => {
  const [designations, values] =
    body === '' ? [[], []] : (JSON.parse(body) as [readonly Designation[], readonly PropertyValue[]])
  const properties = new Map<string, string[]>()
  for (const one of values) {
    const texts = properties.get(one.code) ?? []
    texts.push(textOfProperty(one))
    properties.set(one.code, texts)
  }
  return {
    ...{ place, code, properties, values },
    display: display ?? undefined,
    definition: definition ?? undefined,
    // JSON has no undefined members.
    designations: designations.map(({ language, use, value }) => ({ language, use, value })),
    isInactive: inactive === 1,
    isAbstract: abstract === 1,
  }
}

export interface IndexedSystem {
  readonly id: number
  readonly size: number
  readonly header: SystemHeader
}

export const createIndexedSource = (
  database: Pick<Database, 'all' | 'longQuery'>,
  { id, size, header }: IndexedSystem,
  kept: KeptPlaces,
): ConceptSource => {
  const keyOf = (code: string): string => keyOfCode(code, header.isCaseSensitive)
  /** Of the concepts with the same key the one with that very code, else the last one, as a parsed code system has it. */
  const chosen = <T extends { readonly code: string; readonly place: number }>(
    code: string,
    rows: readonly T[],
  ): T | undefined =>
    rows.find((row) => row.code === code) ??
    rows.reduce<T | undefined>((a, b) => (a && a.place > b.place ? a : b), undefined)

  /** The answer of one question, looked up once. */
  const remember = async (question: string, ask: () => Promise<PlaceSet>): Promise<PlaceSet> => {
    const key = `${id} ${question}`
    const known = kept.get(key)
    if (known !== undefined) return known
    const places = await ask()
    kept.set(key, places)
    return places
  }
  const places = async (statement: Sql, params: readonly SqlParam[]): Promise<PlaceSet> => {
    const [row] = await database.longQuery<ListRow>(statement, params)
    return readList(size, row?.list ?? '')
  }
  const inParts = async <R>(list: readonly unknown[], ask: (json: string) => R[] | Promise<R[]>): Promise<R[]> => {
    const found: R[] = []
    for (let at = 0; at < list.length; at += AT_ONCE) {
      if (at > 0) await new Promise((resolve) => setImmediate(resolve))
      for (const row of await ask(JSON.stringify(list.slice(at, at + AT_ONCE)))) found.push(row)
    }
    return found
  }

  const findAll = async (codes: readonly string[]): Promise<ReadonlyMap<string, ConceptFacts>> => {
    const rows = await inParts([...new Set(codes.map(keyOf))], (keys) =>
      database.all<ConceptRow>(readConcepts, [keys, id]),
    )
    const byKey = Map.groupBy(rows, ({ asked }) => asked)
    const found = new Map<string, ConceptFacts>()
    for (const code of codes) {
      const row = chosen(code, byKey.get(keyOf(code)) ?? [])
      if (row !== undefined) found.set(code, toConcept(row))
    }
    return found
  }
  const codes = async (statement: Sql, params: readonly SqlParam[]): Promise<readonly string[]> =>
    (await database.longQuery<{ code: string }>(statement, params)).map(({ code }) => code)
  const select = createSelect({ database, id, size, header, findAll, places })

  /** The concepts whose code, or a word of whose display, begins with a match text. */
  const beginning = async (wanted: string, language: string | undefined): Promise<PlaceSet> => {
    const compared = [` ${wanted}`, wanted]
    if (language === undefined) return remember(`text ${wanted}`, () => places(selectMatching, [id, ...compared]))
    const tag = language.toLowerCase()
    const statement = isOfLanguage(header.language, tag) ? selectMatchingInOwnLanguage : selectMatchingInLanguage
    return remember(JSON.stringify(['text', tag, wanted]), () =>
      places(statement, [id, tag, `${tag}-`, `${tag}-`, ...compared]),
    )
  }

  /** The concepts of which a word, or the code, begins with one of the forms of a word. */
  const withWord = async (word: string, language: string | undefined): Promise<PlaceSet> => {
    const [first, ...others] = await Promise.all(formsOf(word).map((form) => beginning(form, language)))
    const found = first as PlaceSet
    return others.length === 0 ? found : others.reduce((all, one) => all.addAll(one), found.copy())
  }
  /** The concepts whose code begins with a filter of several words. Few code systems have codes with blanks: others are not searched. */
  const beginningWith = async (filter: string): Promise<PlaceSet | undefined> => {
    const withBlanks = await remember('codes with blanks', () => places(selectCodesWith, [id, ' ']))
    if (withBlanks.count === 0) return undefined
    return remember(JSON.stringify(['codes', filter]), () => places(selectCodesBeginning, [id, filter]))
  }

  return {
    ...header,
    ...{ id, size, findAll },
    async find(code) {
      const row = chosen(code, await database.all<ConceptRow>(readConcept, [id, keyOf(code)]))
      return row === undefined ? undefined : toConcept(row)
    },
    async at(wanted) {
      const rows = await inParts(wanted, (list) => database.all<ConceptRow>(readPlaces, [list, id]))
      const byPlace = new Map(rows.map((row) => [row.place, toConcept(row)]))
      return wanted.map((place) => byPlace.get(place) as ConceptFacts)
    },
    linked: ({ place }, direction) => codes(direction === 'parents' ? readParentCodes : readChildCodes, [id, place]),
    async parentsOf(wanted) {
      const rows = await inParts(wanted, (list) =>
        database.all<{ child: number; parent: number }>(readParentPlaces, [list, id]),
      )
      const byChild = Map.groupBy(rows, ({ child }) => child)
      return wanted.map((place) => (byChild.get(place) ?? []).map(({ parent }) => parent))
    },
    related: ({ place }, direction, most) =>
      codes(direction === 'above' ? readAbove : readBelow, [place, id, id, most + 1]),
    isWithin: async (concept, other) =>
      concept.place === other.place || (await database.all(isAbove, [concept.place, id, other.place])).length > 0,
    select: (filter) => remember(JSON.stringify([filter.property, filter.op, filter.value]), () => select(filter)),
    marked: (mark) => remember(mark, () => places(mark === 'inactive' ? selectInactive : selectAbstract, [id])),
    async matching(text, language) {
      const filter = toMatchText(text)
      const words = wordsOf(filter)
      if (words.length === 1) return withWord(words[0] as string, language)
      const [whole, first, ...others] = await Promise.all([
        beginningWith(filter),
        ...words.map((one) => withWord(one, language)),
      ])
      const found = (first as PlaceSet).copy()
      for (const one of others) found.keep(one)
      return whole === undefined ? found : found.addAll(whole)
    },
  }
}
