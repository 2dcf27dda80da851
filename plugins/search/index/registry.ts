/**
 * The search parameters of this database at work: their columns have numbers that never change, their extractors are
 * generated when the first resource of a type is written or found. What is posted or retired while the server runs
 * takes effect from one write to the next.
 */
import type { Random } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import { type InterpretedNodes, loadPathInterpreter, type Members, type ReferenceWalker } from '../../model/service.ts'
import {
  type ClientParameterCompiler,
  type ClientParameterRow,
  createClientParameterCompiler,
} from '../definition/client-parameters.ts'
import type { Parameter } from '../definition/parameter.ts'
import type { SearchDefinitions } from '../definition/stored-definitions.ts'
import { type ColumnRow, columnKeyOf, isSettled, settleColumns } from './columns.ts'
import { CONTAINED_OFFSET } from './contained/key-space.ts'
import { createConverters } from './convert/converters.ts'
import { createExtraction, type Extraction } from './extraction.ts'
import { createHasher, type Hasher } from './hash.ts'
import { layoutNow } from './layout.ts'
import { type PageKey, toPageKey } from './page-key.ts'
import { createParameterState, type ParameterState } from './parameter-state.ts'
import { openSettings } from './settings.ts'
import { settleCaseless } from './settle-caseless.ts'
import { POSTING, readGeneration, readHeldTypes, readIndexColumns, readPosted } from './tables.ts'

/** What another thread makes the same extraction from, as plain data. */
export interface ExtractionSource {
  readonly seed: number
  /** Code systems whose codes are compared without case. */
  readonly caseless: readonly string[]
  readonly model: SearchDefinitions
  readonly held: readonly ColumnRow[]
  readonly packaged: ReadonlySet<string>
  readonly posted: ReadonlySet<string>
}

export interface Registry extends Extraction {
  readonly hasher: Hasher
  /** Seals page tokens; the same on every server of this database. */
  readonly key: PageKey
  readonly compartments: SearchDefinitions['compartments']
  /** Another object whenever what names mean has changed. */
  readonly state: Pick<ParameterState, 'pairOf'>
  /** By code; an empty map for a type that is not known. */
  parameters(type: string): ReadonlyMap<string, Parameter>
  /** The column of the canonical names of a type's resources. */
  canonicalColumn(type: string): number | undefined
  /** What extraction is made from: another object whenever resources have other index rows than before. */
  readonly source: ExtractionSource
  /** The layout that `source` writes, or one that is not current any more: see layout.ts. */
  readonly layout: string
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
  columnsOf: ParameterState['columnsOf']
  /** False for a word that may be the code of a parameter that is posted, not complete or not known here. */
  isPlain(word: string): boolean
  /** The definitions of the packages and what compiles posted ones. */
  readonly packages: SearchDefinitions
  compiler(): Promise<ClientParameterCompiler>
  toNodes(): Promise<(expression: string) => InterpretedNodes>
  /** How far the filling of a column has come. */
  note(progress: Pick<ColumnRow, 'code' | 'reach' | 'indexed' | 'expected'>): void
  /** Looks at what the database holds now. True when that was news. */
  refresh(): Promise<boolean>
}

export interface RegistryOptions {
  readonly database: Database
  readonly random: Random
  readonly model: SearchDefinitions
  readonly referenceWalker: ReferenceWalker
  readonly types: readonly string[]
  readonly codeOf: (type: string) => number | undefined
  readonly members: () => Promise<Members>
  /** Code systems whose codes are compared without case, in order. */
  readonly caseless: readonly string[]
}

const NONE: ReadonlyMap<string, Parameter> = new Map()

export const openRegistry = async (options: RegistryOptions): Promise<Registry> => {
  const { database, random, model: packages, referenceWalker, types, codeOf, members } = options
  const { seed, key: secret } = await openSettings(database, random)
  const key = toPageKey(secret)
  const hasher = createHasher(seed, new Set(options.caseless))
  await settleCaseless(database, hasher.short, options.caseless)
  const converters = createConverters(hasher)
  const packaged = new Set(packages.columns.map(columnKeyOf))

  let compiler: Promise<ClientParameterCompiler> | undefined
  const openCompiler = async (): Promise<ClientParameterCompiler> =>
    createClientParameterCompiler(packages, await members(), new Set(types))
  const getCompiler = (): Promise<ClientParameterCompiler> => {
    // What failed is tried again: the database may have been away.
    compiler ??= openCompiler().catch((error) => {
      compiler = undefined
      throw error
    })
    return compiler
  }
  let exotic: Promise<(expression: string) => InterpretedNodes> | undefined
  let toNodes: ((expression: string) => InterpretedNodes) | undefined
  const getNodes = async (): Promise<(expression: string) => InterpretedNodes> => {
    exotic ??= loadPathInterpreter()
    toNodes = await exotic
    return toNodes
  }

  let merged: { readonly from: string; readonly model: SearchDefinitions } = { from: '[]', model: packages }
  const modelOf = async (posted: readonly ClientParameterRow[]): Promise<SearchDefinitions> => {
    const from = JSON.stringify(posted)
    if (merged.from !== from)
      merged = { from, model: posted.length === 0 ? packages : (await getCompiler()).merge(posted) }
    const { model } = merged
    if (model.columns.some((column) => column.exotic === true)) await getNodes()
    return model
  }
  /** Numbers for the columns of the model: those that are known keep theirs, new ones are added. False: look again. */
  const settle = async (model: SearchDefinitions, posted: string): Promise<boolean> => {
    if (isSettled(model.columns, await database.all<ColumnRow>(readIndexColumns, []))) return true
    const rows = await database.all<{ code: number }>(readHeldTypes, [CONTAINED_OFFSET])
    const held = new Set(rows.map(({ code }) => code))
    await database.transact(async (transaction) => {
      // What is posted meanwhile by another server must not be put aside.
      await transaction.hold(POSTING)
      if (JSON.stringify(await transaction.all<ClientParameterRow>(readPosted, [])) !== posted) return
      const isFirst = (await transaction.all<ColumnRow>(readIndexColumns, [])).length === 0
      // Another server may be creating the first resource of a type.
      const isAlone = isFirst || database.kind !== 'postgres'
      await settleColumns(transaction, model.columns, (type) => isAlone && !held.has(codeOf(type) ?? 0))
    })
    return false
  }
  const generationNow = async (): Promise<string> =>
    (await database.get<{ value: string }>(readGeneration, []))?.value ?? '0'

  let generation = ''
  let layout = ''
  let state: ParameterState
  let source: ExtractionSource
  /** Reads the numbers first: what changes meanwhile is found by the next look. */
  const load = async (isStart: boolean): Promise<void> => {
    const now = await generationNow()
    const nowWritten = await layoutNow(database)
    const posted = await database.all<ClientParameterRow>(readPosted, [])
    const model = await modelOf(posted)
    if (isStart && !(await settle(model, JSON.stringify(posted)))) return load(true)
    const held = await database.all<ColumnRow>(readIndexColumns, [])
    // Another server has just posted more: its columns come with the next look.
    const known = new Set(held.map(columnKeyOf))
    if (!isStart && model.columns.some((column) => !known.has(columnKeyOf(column)))) return
    const urls = new Set(posted.map(({ url }) => url))
    const next = createParameterState(model, held, packaged, urls)
    // How complete columns are is nothing to generate code for.
    const isOther = isStart || !next.hasCodesOf(state)
    state = isOther ? next : { ...next, extractors: state.extractors }
    if (isOther) source = { seed, caseless: options.caseless, model, held, packaged, posted: urls }
    generation = now
    // With other packages than those of another server the layout cannot be written here.
    if (isStart || isSettled(model.columns, held)) layout = nowWritten
  }
  await load(true)

  const extraction = createExtraction({
    hasher,
    referenceWalker,
    converters,
    state: () => state,
    toNodes: () => toNodes,
  })
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
    get layout() {
      return layout
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
