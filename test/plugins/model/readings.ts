/**
 * What the readers of the model make of definitions and resources, as lines of text: equal lines before and after a change
 * of a reader show that nothing else has changed. `readings.test.ts` keeps the digests of R4.
 */
import type { Database, Transaction } from '../../../plugins/database/service.ts'
import { loadTypeCatalog } from '../../../plugins/model/catalog.ts'
import {
  compareDateTimes,
  createElements,
  createInvariants,
  type DateBounds,
  fieldsOf,
  isDate,
  isDateTime,
  isInstant,
  isTime,
  loadInterpreter,
  MAX_COST,
  parsePatchPath,
  readDateBounds,
  readDateRange,
  type StaticType,
  type StructureDefinition,
  typeUrl,
} from '../../../plugins/model/service.ts'
import type { Definitions } from '../../../plugins/packages/service.ts'
import { compileSearchDefinitions } from '../../../plugins/search/definition/compile-definitions.ts'
import { createConverters } from '../../../plugins/search/index/convert/converters.ts'
import { compileExtractor } from '../../../plugins/search/index/extractor.ts'
import { createHasher } from '../../../plugins/search/index/hash.ts'
import { IndexEntries } from '../../../plugins/search/index/index-entries.ts'
import { createProfiles } from '../../../plugins/validation/profiles/profiles.ts'
import { type ProfileTree, treeOf } from '../../../plugins/validation/profiles/tree.ts'
import { createRules } from '../../../plugins/validation/rules/rules.ts'
import { createValueSets } from '../../../plugins/validation/rules/value-set.ts'
import { createStructureValidator } from '../../../plugins/validation/structure/validator.ts'
import { dateTexts, expressionTexts, patchPathTexts } from './drawn-texts.ts'

type Json = Record<string, any>

export interface Corpus {
  readonly definitions: readonly Json[]
  readonly resources: readonly Json[]
  /** How much of the texts that are drawn: 1 is all of them. */
  readonly share: number
}

export type Lines = AsyncGenerator<string> | Generator<string>

/** JSON with what JSON has no word for: Infinity, maps, errors. */
const toText = (value: unknown): string =>
  JSON.stringify(value, (_key, one) =>
    one === Infinity ? '*' : one instanceof Map ? [...one] : Number.isNaN(one) ? 'NaN' : one,
  ) ?? 'undefined'

const ofType = (corpus: Corpus, type: string): any[] =>
  corpus.definitions.filter(({ resourceType }) => resourceType === type)
const structuresOf = (corpus: Corpus): StructureDefinition[] => ofType(corpus, 'StructureDefinition')

const attempt = (work: () => unknown): string => {
  try {
    return toText(work())
  } catch (error) {
    return (error as Error).constructor.name
  }
}

const definitionsOf = (corpus: Corpus): Definitions => ({
  packages: [],
  fingerprint: 'readings',
  all: async (type) =>
    ofType(corpus, type).map((one) => ({ package: '', type, id: one.id, url: one.url, json: JSON.stringify(one) })),
  find: async (type, url) => {
    const found = ofType(corpus, type).find((one) => one.url === url)
    return found && { package: '', type, id: found.id, url, json: JSON.stringify(found) }
  },
  refresh: async () => false,
})

/** Types, reference paths and members, as they are put into the database. */
async function* catalog(corpus: Corpus): Lines {
  const rows: string[] = []
  const run = async (_statement: unknown, [, body]: readonly unknown[]) => {
    if (typeof body === 'string') rows.push(body)
  }
  const database = {
    get: async () => undefined,
    alone: (_name: string, work: () => unknown) => work(),
    transact: (work: (transaction: Transaction) => unknown) =>
      work({ run, publish: () => undefined } as unknown as Transaction),
  }
  await loadTypeCatalog(database as unknown as Database, definitionsOf(corpus))
  for (const row of rows)
    for (const [name, value] of Object.entries(JSON.parse(row)))
      if (typeof value !== 'object' || value === null) yield `${name} ${value}`
      else for (const [key, inner] of Object.entries(value)) yield `${name} ${key} ${toText(inner)}`
}

/** Elements as a patch meets them. */
async function* elements(corpus: Corpus): Lines {
  const found = createElements(definitionsOf(corpus))
  for (const { url, type, snapshot } of structuresOf(corpus)) {
    if (url !== typeUrl(type)) continue
    await found.load(type)
    for (const { path } of snapshot?.element ?? []) {
      const [, ...names] = path.split('.')
      const name = names.pop()?.replace('[x]', '') ?? ''
      yield `${path} ${toText(found.find({ type, path: names.join('.') }, name))}`
    }
  }
}

function* fields(corpus: Corpus): Lines {
  for (const definition of structuresOf(corpus)) {
    if (definition.snapshot === undefined) continue
    yield attempt(() => fieldsOf(definition))
  }
}

/** From the snapshots, and from the differentials laid over their bases. */
function* profileTrees(corpus: Corpus): Lines {
  const byUrl = new Map(structuresOf(corpus).map((one) => [one.url, one]))
  const made = new Map<string, ProfileTree | null>()
  const laidOver = (url: string): ProfileTree | null | undefined => {
    const definition = byUrl.get(url)
    if (definition === undefined) return undefined
    const { snapshot, ...rest } = definition
    const known = made.get(url) ?? treeOf(definition.derivation === 'constraint' ? rest : definition, laidOver)
    made.set(url, known)
    return known
  }
  for (const definition of structuresOf(corpus)) {
    yield `${definition.url} ${toText(treeOf(definition, laidOver))}`
    yield `${definition.url} ${toText(laidOver(definition.url))}`
  }
}

const typesOf = (corpus: Corpus): string[] =>
  structuresOf(corpus)
    .filter((one) => one.kind === 'resource' && !one.abstract && one.derivation !== 'constraint')
    .map(({ type }) => type)

const searchModel = (corpus: Corpus) =>
  compileSearchDefinitions({
    structures: structuresOf(corpus),
    parameters: ofType(corpus, 'SearchParameter'),
    compartments: ofType(corpus, 'CompartmentDefinition') as never,
    types: typesOf(corpus),
  })

function* searchDefinitions(corpus: Corpus): Lines {
  for (const [name, list] of Object.entries(searchModel(corpus)))
    for (const one of Object.entries(list)) yield `${name} ${toText(one)}`
}

/** Index rows of all resources. */
function* extraction(corpus: Corpus): Lines {
  const converters = createConverters(createHasher(42))
  const columns = Map.groupBy(
    searchModel(corpus).columns.map((column, code) => ({
      ...column,
      code,
      ...(column.of === undefined ? {} : { refers: column.of.refers }),
    })),
    ({ type }) => type,
  )
  const extractors = new Map([...columns].map(([type, list]) => [type, compileExtractor(list, converters)]))
  for (const resource of corpus.resources) {
    const rows = new IndexEntries()
    extractors.get(resource.resourceType)?.(resource as never, rows)
    yield `${resource.resourceType}/${resource.id} ${toText(rows)}`
  }
}

const finder = (corpus: Corpus) => {
  const byUrl = new Map(corpus.definitions.map((one) => [`${one.resourceType} ${one.url}`, one]))
  return (type: string, canonical: string) => byUrl.get(`${type} ${canonical.replace(/\|.*$/, '')}`)
}

/** What validation says of all resources: structure, invariants, bindings, profiles. */
async function* validation(corpus: Corpus): Lines {
  const find = finder(corpus)
  const source = { definition: (url: string) => find('StructureDefinition', url) as StructureDefinition | undefined }
  const interpreter = await loadInterpreter()
  const [engine, codes] = [() => interpreter, createValueSets(find)]
  const rules = createStructureValidator(source, createRules({ engine, codes }))
  const profiles = createProfiles({ find, shape: rules.shape, codes, engine })
  for (const resource of corpus.resources) {
    const issues = rules.validate(resource)
    const { extensions } = rules
    const more = attempt(() => profiles.check(resource, { profileUrls: [], profiles: true, extensions, limit: 1_000 }))
    yield `${resource.resourceType}/${resource.id} ${toText(issues)} ${more}`
  }
}

const kindOf = (corpus: Corpus, path: string): StaticType => {
  const [type = ''] = path.split('.')
  const definition = finder(corpus)('StructureDefinition', typeUrl(type)) as StructureDefinition
  const shape = fieldsOf(definition)
  const block = shape.blocks.get(path)
  return block === undefined || path === type
    ? { kind: 'complex', name: typeUrl(type) }
    : { kind: 'block', name: path, shape, block }
}

/** Whether drawn expressions are compiled as invariants, and what they say of a resource. */
function* invariants(corpus: Corpus): Lines {
  const find = finder(corpus)
  const shapes = new Map<string, ReturnType<typeof fieldsOf> | undefined>()
  const shape = (url: string) => {
    if (shapes.has(url)) return shapes.get(url)
    const definition = find('StructureDefinition', url) as StructureDefinition | undefined
    const made = definition?.snapshot && fieldsOf(definition)
    shapes.set(url, made)
    return made
  }
  let left = 0
  const compile = createInvariants({
    typeFieldsOf: shape,
    interpreter: () => {
      left++
      return null
    },
    work: { left: MAX_COST * 1_000 },
  })
  const patients = corpus.resources.filter(({ resourceType }) => resourceType === 'Patient').slice(0, 5)
  const kinds = [kindOf(corpus, 'Patient')]
  for (const text of expressionTexts(corpus.share)) {
    left = 0
    const said = attempt(() => {
      const test = compile(text, { kinds, type: 'Patient', isResource: true, path: 'Patient' })
      return patients.map((one) => test?.(one, one, one) ?? 'nothing')
    })
    yield `${text} ${left} ${said}`
  }
}

/** What search makes of drawn expressions. */
function* expressions(corpus: Corpus): Lines {
  const structures = structuresOf(corpus).filter(
    ({ derivation, kind, type }) => derivation !== 'constraint' && (kind !== 'resource' || type === 'Patient'),
  )
  for (const types of ['token', 'date', 'reference', 'string']) {
    const texts = [...expressionTexts(corpus.share)]
    const parameters = texts.map((expression, at) => ({
      ...{ url: `urn:${at}`, code: `p${at}`, base: ['Patient'], expression },
      type: types as 'token',
    }))
    const made = compileSearchDefinitions({ structures, parameters, compartments: [], types: ['Patient'] })
    const byCode = new Map(made.parameters.map((one) => [one.code, one]))
    for (const [at, text] of texts.entries()) {
      const columns = byCode.get(`p${at}`)?.columns ?? []
      yield `${text} ${toText(columns.map(({ column, refers }) => [made.columns[column], refers]))}`
    }
  }
}

function* patchPaths(corpus: Corpus): Lines {
  for (const { type, kind, derivation, snapshot } of structuresOf(corpus)) {
    if (kind !== 'resource' || derivation === 'constraint') continue
    for (const { path } of snapshot?.element ?? [])
      for (const text of [path, path.replaceAll('.', '[0].'), `${path}.where(id = 'a').first()`])
        yield `${text} ${toText(parsePatchPath(text, type))}`
  }
  for (const text of patchPathTexts(corpus.share)) yield `${text} ${toText(parsePatchPath(text, 'Patient'))}`
}

function* dates(corpus: Corpus): Lines {
  const texts = new Set(dateTexts(corpus.share))
  const gather = (value: unknown): void => {
    if (typeof value === 'string' && value.length < 50 && /^\d\d/.test(value)) texts.add(value)
    else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) gather(inner)
  }
  gather(corpus.resources)
  const all = [...texts]
  for (const [at, text] of all.entries()) {
    const bounds: DateBounds = { lo: 0, hi: 0 }
    const read = readDateBounds(text, bounds) && bounds
    const kinds = [isDate, isDateTime, isInstant, isTime].map((is) => Number(is(text))).join('')
    const others = [1, 7, 100, 1_001].map((ahead) => all[(at + ahead) % all.length] as string)
    const compared = others.map((other) => attempt(() => compareDateTimes(text, other)).replace('null', 'NotSupported'))
    yield `${text} ${toText(read)} ${toText(readDateRange(text))} ${kinds} ${compared}`
  }
}

export const READINGS: Readonly<Record<string, (corpus: Corpus) => Lines>> = {
  ...{ catalog, elements, fields, profileTrees, searchDefinitions, extraction, validation },
  ...{ invariants, expressions, patchPaths, dates },
}
