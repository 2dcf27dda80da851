/**
 * The search parameters of this database at work: their columns have numbers that never change, their extractors are
 * generated when the first resource of a type is written or found. What is posted or retired while the server runs
 * takes effect from one write to the next.
 */
import type { Random } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import { type Links, loadExotic, type Nodes, type Shapes } from '../../model/service.ts'
import { settleCaseless } from '../definition/caseless-systems.ts'
import { createPostedCompiler, type PostedCompiler, type PostedRow } from '../definition/client-parameters.ts'
import type { Parameter } from '../definition/parameter.ts'
import type { StoredModel } from '../definition/stored-definitions.ts'
import { type ColumnRow, isSettled, keyOf, settleColumns } from './columns.ts'
import { APART } from './contained/key-space.ts'
import { createConverters } from './convert/converters.ts'
import { createExtraction, type Extraction } from './extraction.ts'
import { createHasher, type Hasher } from './hash.ts'
import { type PageKey, toPageKey } from './page-key.ts'
import { createState, type RegistryState } from './parameter-state.ts'
import { openSettings } from './settings.ts'
import { readColumns, readGeneration, readHeldTypes, readPosted } from './tables.ts'

/** What another thread makes the same extraction from, as plain data. */
export interface ExtractionSource {
  readonly seed: number
  /** Code systems whose codes are compared without case. */
  readonly caseless: readonly string[]
  readonly model: StoredModel
  readonly held: readonly ColumnRow[]
  readonly packaged: ReadonlySet<string>
  readonly posted: ReadonlySet<string>
}

export interface Registry extends Extraction {
  readonly hasher: Hasher
  /** Seals page tokens; the same on every server of this database. */
  readonly key: PageKey
  readonly compartments: StoredModel['compartments']
  /** Another object whenever what names mean has changed. */
  readonly state: Pick<RegistryState, 'pairOf'>
  /** By code; an empty map for a type that is not known. */
  parameters(type: string): ReadonlyMap<string, Parameter>
  /** The column of the canonical names of a type's resources. */
  canonicalColumn(type: string): number | undefined
  /** What extraction is made from: another object whenever resources have other index rows than before. */
  readonly source: ExtractionSource
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
  /** Code systems whose codes are compared without case, in order. */
  readonly caseless: readonly string[]
}

const NONE: ReadonlyMap<string, Parameter> = new Map()

export const openRegistry = async (options: RegistryOptions): Promise<Registry> => {
  const { database, random, model: packages, links, types, codeOf, shapes } = options
  const { seed, key: secret } = await openSettings(database, random)
  const key = toPageKey(secret)
  const hasher = createHasher(seed, new Set(options.caseless))
  await settleCaseless(database, hasher.short, options.caseless)
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
  let source: ExtractionSource
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
    const urls = new Set(posted.map(({ url }) => url))
    const next = createState(model, held, packaged, urls)
    // How complete columns are is nothing to generate code for.
    const isOther = isStart || !next.hasCodesOf(state)
    state = isOther ? next : { ...next, extractors: state.extractors }
    if (isOther) source = { seed, caseless: options.caseless, model, held, packaged, posted: urls }
    generation = now
  }
  await load(true)

  const extraction = createExtraction({ hasher, links, converters, state: () => state, toNodes: () => toNodes })
  let tail: Promise<unknown> = Promise.resolve()

  return {
    hasher,
    key,
    packages,
    compartments: packages.compartments,
    get state() {
      return state
    },
    get source() {
      return source
    },
    parameters: (type) => state.parametersOf.get(type) ?? NONE,
    canonicalColumn: (type) => state.canonicalColumn(type),
    ...extraction,
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
