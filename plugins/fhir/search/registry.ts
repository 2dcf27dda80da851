/**
 * The search parameters of this database at work: their columns have numbers that never change, their extractors are
 * generated when the first resource of a type is written or found. What is posted or retired while the server runs
 * takes effect from one write to the next.
 */
import type { Random } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { Links } from '../links/links.ts'
import { addRest } from '../links/rest.ts'
import { type ColumnRow, isSettled, keyOf, MASK_BITS, settleColumns } from './columns.ts'
import { APART } from './contained/place.ts'
import { COLUMN_STEP } from './convert/columns.ts'
import { type Converters, createConverters } from './convert.ts'
import { loadExotic, type Nodes } from './exotic.ts'
import { compileExtractor, type Extract, type ExtractorColumn } from './extractor.ts'
import { createHasher, type Hasher } from './hash.ts'
import type { StoredModel } from './model.ts'
import { createPostedCompiler, type PostedCompiler, type PostedRow } from './posted.ts'
import { createState, type Numbered, type Parameter, type RegistryState } from './registry-state.ts'
import { Rows } from './rows.ts'
import { openSettings } from './settings.ts'
import type { Shapes } from './shape.ts'
import { readColumns, readGeneration, readHeldTypes, readPosted } from './tables.ts'

export interface Registry {
  readonly hasher: Hasher
  /** Signs page tokens; the same on every server of this database. */
  readonly key: string
  readonly compartments: StoredModel['compartments']
  /** Another object whenever what names mean has changed. */
  readonly state: Pick<RegistryState, 'pairOf'>
  /** By code; an empty map for a type that is not known. */
  parameters(type: string): ReadonlyMap<string, Parameter>
  /** The column of the canonical names of a type's resources. */
  canonicalColumn(type: string): number | undefined
  /** Index rows of a resource. */
  extract(resource: Record<string, unknown>): Rows
  readonly extractInto: Extract
  /** An extractor of some columns, with converters of its own for what the index does not hold. */
  collector(type: string, codes: readonly number[], converters?: Converters): Extract
  /** Bits of the values that rows stand for. */
  masks(type: string, rows: Rows): readonly number[]
  /** Columns of references that hold no Reference but canonicals, URIs and the ids of resources inside, or what others hold too. */
  readonly canonicalColumns: readonly number[]
  /** True when what columns hold depends on what others hold: then a resource is extracted as a whole. */
  needWhole(codes: readonly number[]): boolean
  /** Columns that do not hold all stored resources yet. */
  readonly pending: readonly ColumnRow[]
  /** Columns no parameter uses any more, whose rows are still there. */
  readonly gone: readonly ColumnRow[]
  /** Is a column one of a package's parameters? */
  isPackaged(code: number): boolean
  columnsOf: RegistryState['columnsOf']
  /** False for a word that may be the code of a parameter that is posted, not complete or not known here. */
  isPlain(word: string): boolean
  /** The definitions of the packages and what compiles posted ones. */
  readonly packages: StoredModel
  compiler(): Promise<PostedCompiler>
  toNodes(): Promise<(expression: string) => Nodes>
  /** How far the filling of a column has come. */
  note(progress: Pick<ColumnRow, 'code' | 'reach' | 'indexed' | 'expected'>): void
  /** Looks at what the database holds now. True when that was news. */
  refresh(): Promise<boolean>
}

export interface RegistryOptions {
  readonly database: Database
  readonly random: Random
  readonly model: StoredModel
  readonly links: Links
  readonly types: readonly string[]
  readonly codeOf: (type: string) => number | undefined
  readonly shapes: () => Promise<Shapes>
}

const NONE: ReadonlyMap<string, Parameter> = new Map()

/** What cannot be evaluated on a resource, `single()` of several say, gives it no value; the write is not to blame. */
const careful =
  (nodes: Nodes): Nodes =>
  (resource) => {
    try {
      return nodes(resource)
    } catch {
      return []
    }
  }

export const openRegistry = async (options: RegistryOptions): Promise<Registry> => {
  const { database, random, model: packages, links, types, codeOf, shapes } = options
  const { seed, key } = await openSettings(database, random)
  const hasher = createHasher(seed)
  const converters = createConverters(hasher)
  const packaged = new Set(packages.columns.map(keyOf))

  let compiler: Promise<PostedCompiler> | undefined
  const openCompiler = async (): Promise<PostedCompiler> =>
    createPostedCompiler(packages, await shapes(), new Set(types))
  const getCompiler = (): Promise<PostedCompiler> => {
    // What failed is tried again: the database may have been away.
    compiler ??= openCompiler().catch((error) => {
      compiler = undefined
      throw error
    })
    return compiler
  }
  let exotic: Promise<(expression: string) => Nodes> | undefined
  let toNodes: ((expression: string) => Nodes) | undefined
  const getNodes = async (): Promise<(expression: string) => Nodes> => {
    exotic ??= loadExotic()
    toNodes = await exotic
    return toNodes
  }

  let merged: { readonly from: string; readonly model: StoredModel } = { from: '[]', model: packages }
  const modelOf = async (posted: readonly PostedRow[]): Promise<StoredModel> => {
    const from = JSON.stringify(posted)
    if (merged.from !== from)
      merged = { from, model: posted.length === 0 ? packages : (await getCompiler()).merge(posted) }
    const { model } = merged
    if (model.columns.some((column) => column.exotic === true)) await getNodes()
    return model
  }
  /** Numbers for the columns of the model: those that are known keep theirs, new ones are added. */
  const settle = async (model: StoredModel): Promise<void> => {
    if (isSettled(model.columns, await database.all<ColumnRow>(readColumns, []))) return
    const rows = await database.all<{ code: number }>(readHeldTypes, [APART])
    const held = new Set(rows.map(({ code }) => code))
    await database.transact((transaction) =>
      settleColumns(transaction, model.columns, (type) => !held.has(codeOf(type) ?? 0)),
    )
  }
  const generationNow = async (): Promise<string> =>
    (await database.get<{ value: string }>(readGeneration, []))?.value ?? '0'

  let generation = ''
  let state: RegistryState
  /** Reads the generation first: what changes meanwhile is found by the next look. */
  const load = async (isStart: boolean): Promise<void> => {
    const now = await generationNow()
    const posted = await database.all<PostedRow>(readPosted, [])
    const model = await modelOf(posted)
    if (isStart) await settle(model)
    const held = await database.all<ColumnRow>(readColumns, [])
    // Another server has just posted more: its columns come with the next look.
    const known = new Set(held.map(keyOf))
    if (!isStart && model.columns.some((column) => !known.has(keyOf(column)))) return
    const next = createState(model, held, packaged, new Set(posted.map(({ url }) => url)))
    // How complete columns are is nothing to generate code for.
    state = isStart || !next.hasCodesOf(state) ? next : { ...next, extractors: state.extractors }
    generation = now
  }
  await load(true)

  const toExtractorColumn = ({ column, row }: Numbered): ExtractorColumn => ({
    code: row.code,
    kind: column.kind,
    branches: column.branches,
    ...(column.components === undefined ? {} : { components: column.components }),
    ...(column.of === undefined ? {} : { refers: column.of.refers }),
    ...(column.exotic === true && toNodes !== undefined ? { nodes: careful(toNodes(column.expression)) } : {}),
  })
  const compile = (type: string, wanted: (code: number) => boolean, own: Converters = converters): Extract =>
    compileExtractor((state.byType.get(type) ?? []).filter(({ row }) => wanted(row.code)).map(toExtractorColumn), own)
  const extractorOf = (type: string): Extract => {
    const found = state.extractors.get(type)
    if (found !== undefined) return found
    const made = compile(type, () => true)
    state.extractors.set(type, made)
    return made
  }
  const extractInto: Extract = (resource, rows) => {
    const type = resource.resourceType as string
    extractorOf(type)(resource, rows)
    const rest = state.restOf.get(type)
    if (rest !== undefined) addRest(links, hasher, resource, rest, state.holdsReference, rows.reference)
  }
  let tail: Promise<unknown> = Promise.resolve()

  return {
    hasher,
    key,
    packages,
    compartments: packages.compartments,
    get state() {
      return state
    },
    parameters: (type) => state.parametersOf.get(type) ?? NONE,
    canonicalColumn: (type) => state.canonicalColumn(type),
    extract(resource) {
      const made = new Rows()
      extractInto(resource, made)
      return made
    },
    extractInto,
    collector(type, codes, own) {
      const wanted = new Set(codes)
      return compile(type, (code) => wanted.has(code), own)
    },
    masks(_type, made) {
      const { bitOf } = state
      const masks = [0, 0, 0]
      const seen = new Set<number>()
      let last = -1
      const note = (code: unknown): void => {
        const place = Math.floor((code as number) / COLUMN_STEP)
        // Rows of a column mostly follow one another.
        if (place === last || seen.has(place)) return
        last = place
        seen.add(place)
        const bit = bitOf[place] ?? -1
        if (bit < 0) return
        const at = Math.floor(bit / MASK_BITS)
        masks[at] = (masks[at] as number) + 2 ** (bit % MASK_BITS)
      }
      const { token, reference, date, quantity, string, composite, present } = made
      for (let at = 0; at < token.length; at += 3) note(token[at])
      for (let at = 0; at < reference.length; at += 2) note(reference[at])
      for (let at = 0; at < date.length; at += 3) note(date[at])
      for (let at = 0; at < quantity.length; at += 6) note(quantity[at])
      for (let at = 0; at < string.length; at += 4) note(string[at])
      for (let at = 0; at < composite.length; at += 10) note(composite[at])
      for (const code of present) note(code)
      return masks
    },
    get canonicalColumns() {
      return state.canonicalColumns()
    },
    needWhole: (codes) => codes.some((code) => state.rests.has(code)),
    get pending() {
      return state.pending
    },
    get gone() {
      return state.gone
    },
    isPackaged: (code) => state.packagedCodes.has(code),
    columnsOf: (wanted) => state.columnsOf(wanted),
    isPlain: (word) => state.isPlain(word),
    compiler: getCompiler,
    toNodes: getNodes,
    note({ code, ...progress }) {
      for (const row of state.pending) if (row.code === code) Object.assign(row, progress)
    },
    refresh() {
      // One after the other: the one that began later knows more, and must not be overtaken.
      const looked = tail.then(async () => {
        if ((await generationNow()) === generation) return false
        const before = generation
        await load(false)
        return generation !== before
      })
      tail = looked.catch(() => undefined)
      return looked
    },
  }
}

export type { Parameter, ParameterColumn } from './registry-state.ts'
