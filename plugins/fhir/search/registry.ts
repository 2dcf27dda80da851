/**
 * The search parameters of this database at work: their columns have numbers that never change, their extractors are
 * generated when the first resource of a type is written or found.
 */
import type { Random } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { Links } from '../links/links.ts'
import { addRest, REST } from '../links/rest.ts'
import { CANONICAL, COLUMN_STEP } from './convert/columns.ts'
import type { Kind } from './convert/kind.ts'
import { type Converters, createConverters } from './convert.ts'
import { loadExotic, type Nodes } from './exotic.ts'
import { compileExtractor, type Extract, type ExtractorColumn } from './extractor.ts'
import { createHasher, type Hasher } from './hash.ts'
import type { ParameterType, StoredColumn, StoredModel } from './model.ts'
import { Rows } from './rows.ts'
import { hasResources, insertColumn, insertSetting, readColumns, readSettings, setReady } from './tables.ts'

/** Bits of one mask: what six bytes hold. */
export const MASK_BITS = 47
export const MASKS = 3

/** A column of a parameter as a search uses it. */
export interface ParameterColumn {
  readonly code: number
  /** Only references to this type. */
  readonly refers?: string
  /** Place of the bit that tells whether a resource has a value; -1 when there was no room for one. */
  readonly bit: number
  readonly ready: boolean
  /** Value sets its codes are from, when all are of type `code`; `boolean` when all are true or false. */
  readonly implied?: readonly string[]
  /** Its references are canonicals, or may be. */
  readonly canonical?: true
}

export interface Parameter {
  readonly code: string
  readonly url: string
  readonly type: ParameterType
  readonly columns: readonly ParameterColumn[]
  /** Types its references may point at; empty when not said. */
  readonly targets: readonly string[]
  readonly components: readonly Kind[]
}

export interface PendingType {
  readonly type: string
  readonly codes: readonly number[]
}

export interface Registry {
  readonly hasher: Hasher
  /** Signs page tokens; the same on every server of this database. */
  readonly key: string
  readonly compartments: StoredModel['compartments']
  /** By code; an empty map for a type that is not known. */
  parameters(type: string): ReadonlyMap<string, Parameter>
  /** The column of the canonical names of a type's resources. */
  canonicalColumn(type: string): number | undefined
  /** Index rows of a resource. */
  extract(resource: Record<string, unknown>): Rows
  /** An extractor of some columns with converters of its own: for what the index does not hold. */
  collector(type: string, codes: readonly number[], converters: Converters): Extract
  /** Bits of the values that rows stand for. */
  masks(type: string, rows: Rows): readonly number[]
  /** Columns of references that hold no Reference but canonicals, URIs and the ids of resources inside. */
  readonly canonicalColumns: readonly number[]
  /** Types whose stored resources are not in all columns yet. */
  readonly pending: readonly PendingType[]
  /** Marks a type's columns as complete. */
  completed(type: string): void
}

interface ColumnRow {
  readonly code: number
  readonly type: string
  readonly kind: string
  readonly expression: string
  readonly bit: number
  readonly ready: number
}

const keyOf = ({ type, kind, expression }: Pick<ColumnRow, 'type' | 'kind' | 'expression'>): string =>
  `${type} ${kind} ${expression}`

/** The seed of hashes and the key of page tokens: made once per database. */
const openSettings = async (database: Database, random: Random): Promise<{ seed: number; key: string }> => {
  const read = async (): Promise<Map<string, string>> =>
    new Map(
      (await database.all<{ name: string; value: string }>(readSettings, [])).map(({ name, value }) => [name, value]),
    )
  let settings = await read()
  if (!settings.has('key')) {
    await database.transact(async (transaction) => {
      await transaction.run(insertSetting, ['seed', String(Number.parseInt(random.id().slice(0, 8), 16) | 0)])
      await transaction.run(insertSetting, ['key', `${random.id()}${random.id()}`])
    })
    settings = await read()
  }
  return { seed: Number(settings.get('seed')), key: settings.get('key') as string }
}

/** Numbers for the columns of the model: those that are known keep theirs, new ones are added. */
const openColumns = async (
  database: Database,
  columns: readonly StoredColumn[],
  codeOf: (type: string) => number | undefined,
): Promise<Map<string, ColumnRow>> => {
  const held = new Map((await database.all<ColumnRow>(readColumns, [])).map((row) => [keyOf(row), row]))
  const wanted = new Set(columns.map(keyOf))
  const stale = [...held.values()].filter((row) => row.ready === 1 && !wanted.has(keyOf(row)))
  const missing = columns.filter((column) => !held.has(keyOf(column)))
  if (stale.length + missing.length === 0) return held
  const bits = new Map<string, number>()
  for (const { type, bit } of held.values()) bits.set(type, Math.max(bits.get(type) ?? 0, bit + 1))
  let last = Math.max(0, ...[...held.values()].map(({ code }) => code))
  const empty = new Map<string, boolean>()
  for (const type of new Set(missing.map((one) => one.type)))
    empty.set(type, (await database.get(hasResources, [codeOf(type) ?? 0])) === undefined)
  const made = missing.map(({ type, kind, expression }): ColumnRow => {
    last += COLUMN_STEP
    const bit = bits.get(type) ?? 0
    bits.set(type, bit + 1)
    return {
      code: last,
      type,
      kind,
      expression,
      bit: bit < MASK_BITS * MASKS ? bit : -1,
      ready: empty.get(type) === true ? 1 : 0,
    }
  })
  await database.transact(async (transaction) => {
    // A column nobody writes any more must not be trusted when its parameter comes back.
    for (const { code } of stale) await transaction.run(setReady, [0, code])
    for (const { code, type, kind, expression, bit, ready } of made)
      await transaction.run(insertColumn, [code, type, kind, expression, bit, ready])
  })
  for (const row of stale) held.set(keyOf(row), { ...row, ready: 0 })
  for (const row of made) held.set(keyOf(row), row)
  return held
}

/** Where codes carry no system, the value sets they are bound to tell it. */
const impliedBy = ({ kind, branches }: StoredColumn): readonly string[] | undefined => {
  if (kind !== 'token' || branches.length === 0) return undefined
  if (branches.every(({ type }) => type === 'boolean')) return ['boolean']
  const bindings = branches.map(({ type, binding }) => (type === 'code' ? binding : undefined))
  return bindings.every((one) => one !== undefined) ? [...new Set(bindings)] : undefined
}

const CANONICALS = new Set(['canonical', 'uri', 'url'])
const isCanonical = ({ kind, branches }: StoredColumn): boolean =>
  kind === 'reference' && branches.some(({ type }) => CANONICALS.has(type))

export interface RegistryOptions {
  readonly database: Database
  readonly random: Random
  readonly model: StoredModel
  readonly links: Links
  readonly codeOf: (type: string) => number | undefined
}

/** An extension may hold a Reference; what fhirpath.js is left with may be one. */
const holdsReferences = ({ branches, exotic }: StoredColumn): boolean =>
  exotic === true || branches.some(({ type }) => type === 'Reference' || type === 'Extension')

export const openRegistry = async ({ database, random, model, links, codeOf }: RegistryOptions): Promise<Registry> => {
  const { seed, key } = await openSettings(database, random)
  const hasher = createHasher(seed)
  const converters = createConverters(hasher)
  const rows = await openColumns(database, model.columns, codeOf)
  const numbered = model.columns.map((column) => ({ column, row: rows.get(keyOf(column)) as ColumnRow }))
  const unready = new Map<string, number[]>()
  for (const { row } of numbered)
    if (row.ready === 0) unready.set(row.type, [...(unready.get(row.type) ?? []), row.code])

  let toNodes: ((expression: string) => Nodes) | undefined
  if (model.columns.some(({ exotic }) => exotic === true)) toNodes = await loadExotic()

  const toExtractorColumn = ({ column, row }: (typeof numbered)[number]): ExtractorColumn => ({
    code: row.code,
    kind: column.kind,
    branches: column.branches,
    ...(column.components === undefined ? {} : { components: column.components }),
    ...(column.of === undefined ? {} : { refers: column.of.refers }),
    ...(column.exotic === true && toNodes !== undefined ? { nodes: toNodes(column.expression) } : {}),
  })
  const byType = new Map<string, typeof numbered>()
  for (const one of numbered) {
    const list = byType.get(one.column.type)
    if (list === undefined) byType.set(one.column.type, [one])
    else list.push(one)
  }
  const extractors = new Map<string, Extract>()
  const extractorOf = (type: string): Extract => {
    const found = extractors.get(type)
    if (found !== undefined) return found
    const made = compileExtractor((byType.get(type) ?? []).map(toExtractorColumn), converters)
    extractors.set(type, made)
    return made
  }
  const restOf = new Map<string, number>()
  const canonicals = new Set<number>()
  for (const { column, row } of numbered)
    if (column.expression === REST) restOf.set(column.type, row.code)
    else if (column.kind === 'reference' && !holdsReferences(column)) canonicals.add(row.code)
  const holdsReference = (code: number): boolean => {
    const beside = code % COLUMN_STEP
    return beside !== CANONICAL && !canonicals.has(code - beside)
  }

  // Bits by place: column codes are multiples, so that the list stays short.
  const bitOf: number[] = []
  for (const { row } of numbered) bitOf[row.code / COLUMN_STEP] = row.bit

  const parametersOf = new Map<string, Map<string, Parameter>>()
  for (const { base, columns, ...parameter } of model.parameters) {
    const list = parametersOf.get(base) ?? new Map<string, Parameter>()
    list.set(parameter.code, {
      ...parameter,
      columns: columns.map(({ column, refers, present }) => {
        const { row, column: stored } = numbered[column] as (typeof numbered)[number]
        const implied = impliedBy(stored)
        const alias = present === undefined ? row : (numbered[present] as (typeof numbered)[number]).row
        return {
          code: row.code,
          bit: alias.bit,
          ...(refers === undefined ? {} : { refers }),
          ...(implied === undefined ? {} : { implied }),
          ...(isCanonical(stored) ? { canonical: true } : {}),
          get ready() {
            return !unready.has(base)
          },
        }
      }),
    })
    parametersOf.set(base, list)
  }
  const NONE: ReadonlyMap<string, Parameter> = new Map()

  return {
    hasher,
    key,
    compartments: model.compartments,
    parameters: (type) => parametersOf.get(type) ?? NONE,
    canonicalColumn(type) {
      const place = model.canonicals[type]
      return place === undefined ? undefined : numbered[place]?.row.code
    },
    extract(resource) {
      const made = new Rows()
      const type = resource.resourceType as string
      extractorOf(type)(resource, made)
      const rest = restOf.get(type)
      if (rest !== undefined) addRest(links, hasher, resource, rest, holdsReference, made.reference)
      return made
    },
    collector: (type, codes, own) =>
      compileExtractor(
        (byType.get(type) ?? []).filter(({ row }) => codes.includes(row.code)).map(toExtractorColumn),
        own,
      ),
    masks(_type, made) {
      const masks = [0, 0, 0]
      const seen = new Set<number>()
      const note = (code: unknown): void => {
        const place = Math.floor((code as number) / COLUMN_STEP)
        if (seen.has(place)) return
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
    canonicalColumns: [...canonicals],
    get pending() {
      return [...unready].map(([type, codes]) => ({ type, codes }))
    },
    completed: (type) => void unready.delete(type),
  }
}
