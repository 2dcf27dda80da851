/**
 * The search parameters of this database, with the codes of their columns, which never change. The extractor of a
 * type is generated when its first resource is written or searched. SearchParameters that are posted or retired take
 * effect with the next write.
 */
import type { Random } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { InterpretedNodes, Members, ReferenceWalker } from '../../model/service.ts'
import type { ClientParameterCompiler, ClientParameterRow } from '../definition/client-parameters.ts'
import type { Parameter } from '../definition/parameter.ts'
import type { SearchDefinitions } from '../definition/stored-definitions.ts'
import { type ColumnRow, columnKeyOf, isSettled } from './columns.ts'
import { createConverters } from './convert/converters.ts'
import { createExtraction, type Extraction } from './extraction.ts'
import type { ExtractionSource } from './extraction-source.ts'
import { createHasher, type Hasher } from './hash.ts'
import { layoutNow } from './layout.ts'
import { createMergedDefinitions } from './merged-definitions.ts'
import { type PageKey, toPageKey } from './page-key.ts'
import { createParameterState, type ParameterState } from './parameter-state.ts'
import { toPurposeKey } from './purpose-key.ts'
import { createSameRows } from './same-rows.ts'
import { openSettings, type Waiting } from './settings.ts'
import { settleCaseless } from './settle-caseless.ts'
import { settleDefinitions } from './settle-definitions.ts'
import { readGeneration, readIndexColumns, readPosted } from './tables.ts'
import { createWrittenRows, type WrittenRows } from './written-rows.ts'

export interface Registry extends Extraction {
  readonly hasher: Hasher
  /** Encrypts page tokens. The same on all servers of the database. */
  readonly key: PageKey
  /** Another key of the database, for this purpose alone: `relay`. The same on all of its servers. */
  keyFor(purpose: string): Buffer
  readonly compartments: SearchDefinitions['compartments']
  /** Replaced by another object when the meaning of parameter names has changed. */
  readonly state: Pick<ParameterState, 'pairOf'>
  /** Parameters by code. Empty for an unknown type. */
  parameters(type: string): ReadonlyMap<string, Parameter>
  /** Code of the column with the canonical names of a type's resources. */
  canonicalColumn(type: string): number | undefined
  /** Replaced by another object when resources have other index rows than before. */
  readonly source: ExtractionSource
  /** Rows of versions that were just written. */
  readonly written: WrittenRows
  /** What tells whether a compiled query is current, shared by all that a `state` has: most become outdated together. */
  readonly meanings: WeakMap<Registry['state'], { readonly isCurrent: boolean }>
  /** True when rows of these types that were extracted with `earlier` are those that `source` makes. */
  hasSameRows(earlier: ExtractionSource, types: readonly string[]): boolean
  /** The layout that `source` writes, or an earlier one that is outdated: see layout.ts. */
  readonly layout: string
  /**
   * Reference columns that need not be searched for referrers: they hold no References, or only such as other columns
   * hold too.
   */
  readonly canonicalColumns: readonly number[]
  /**
   * True for columns of unlisted references: their rows depend on what the other columns hold, so the whole resource
   * has to be extracted to fill them.
   */
  needWhole(codes: readonly number[]): boolean
  /** Columns that do not hold all stored resources yet. */
  readonly pending: readonly ColumnRow[]
  /** Columns that no parameter uses, and whose rows are not removed yet. */
  readonly gone: readonly ColumnRow[]
  /** True when the column belongs to a parameter of a package. */
  isPackaged(code: number): boolean
  columnsOf: ParameterState['columnsOf']
  /**
   * False for a word that may be the code of a posted, incomplete or unknown parameter: then the definitions have to
   * be refreshed.
   */
  isPlain(word: string): boolean
  /** The definitions of the packages. */
  readonly packages: SearchDefinitions
  compiler(): Promise<ClientParameterCompiler>
  toNodes(): Promise<(expression: string) => InterpretedNodes>
  /** Records the progress of a backfill. */
  note(progress: Pick<ColumnRow, 'code' | 'reach' | 'indexed' | 'expected'>): void
  /** Reads the columns and posted SearchParameters again. Resolves to true when they had changed. */
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
  readonly waiting: Waiting
}

const NONE: ReadonlyMap<string, Parameter> = new Map()

export const openRegistry = async (options: RegistryOptions): Promise<Registry> => {
  const { database, random, model: packages, referenceWalker, types, codeOf, members, waiting } = options
  const { seed, key: secret } = await openSettings(database, random, waiting)
  const key = toPageKey(secret)
  const hasher = createHasher(seed, new Set(options.caseless))
  await settleCaseless(database, hasher.short, options.caseless, waiting)
  const converters = createConverters(hasher)
  const packaged = new Set(packages.columns.map(columnKeyOf))
  const merged = createMergedDefinitions(packages, types, members)

  const generationNow = async (): Promise<string> =>
    (await database.get<{ value: string }>(readGeneration, []))?.value ?? '0'

  let generation = ''
  let layout = ''
  let state: ParameterState
  let source: ExtractionSource
  const sameRows = createSameRows()
  /** Reads generation and layout before everything else, so that the next refresh notices a change that happens meanwhile. */
  const load = async (isStart: boolean): Promise<void> => {
    const now = await generationNow()
    const nowWritten = await layoutNow(database)
    const posted = await database.all<ClientParameterRow>(readPosted, [])
    const model = await merged.modelOf(posted)
    if (isStart && !(await settleDefinitions(database, model, JSON.stringify(posted), codeOf, waiting)))
      return load(true)
    const held = await database.all<ColumnRow>(readIndexColumns, [])
    // Another server has just posted a SearchParameter whose columns are not in `held`. The next refresh reads it.
    const known = new Set(held.map(columnKeyOf))
    if (!isStart && model.columns.some((column) => !known.has(columnKeyOf(column)))) return
    const urls = new Set(posted.map(({ url }) => url))
    const next = createParameterState(model, held, packaged, urls)
    // Extractors are generated again only when the columns have changed; the progress of columns does not matter.
    const isOther = isStart || !next.hasCodesOf(state)
    state = isOther ? next : { ...next, extractors: state.extractors }
    if (isOther) source = { seed, caseless: options.caseless, model, held, packaged, posted: urls }
    generation = now
    // A server with other packages than this one may have changed the columns; this server cannot write that layout.
    if (isStart || isSettled(model.columns, held)) layout = nowWritten
  }
  await load(true)

  const extraction = createExtraction({
    hasher,
    referenceWalker,
    converters,
    state: () => state,
    toNodes: merged.loadedNodes,
  })
  const written = createWrittenRows()
  let tail: Promise<unknown> = Promise.resolve()

  return {
    hasher,
    key,
    keyFor: (purpose) => toPurposeKey(secret, purpose),
    packages,
    compartments: packages.compartments,
    get state() {
      return state
    },
    get source() {
      return source
    },
    written,
    meanings: new WeakMap(),
    hasSameRows: (earlier, types) => sameRows(earlier, source, types),
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
    compiler: merged.compiler,
    toNodes: merged.toNodes,
    note({ code, ...progress }) {
      for (const row of state.pending) if (row.code === code) Object.assign(row, progress)
    },
    refresh() {
      // Refreshes run one after the other: otherwise an older result could replace a newer one.
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
