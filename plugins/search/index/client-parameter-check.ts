/**
 * SearchParameter resources as they are written: checked before and inside their transaction, where what they add to
 * the index is made known too, so that both exist or neither.
 */
import type { ServerError } from '../../../kernel/index.ts'
import { isServerError } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import type { MadeChange, RefusedChange, Store, WriteCheck } from '../../storage/service.ts'
import { checkCompiled, checkElements, checkTogether } from '../definition/check-client-parameter.ts'
import {
  AT_WORK,
  type CompiledParameter,
  definitionOf,
  type PostedCompiler,
  type PostedRow,
  toDefinition,
} from '../definition/client-parameters.ts'
import type { Indexer } from './backfill/backfill-worker.ts'
import { settleColumns } from './columns.ts'
import type { Registry } from './registry.ts'
import { dropPosted, nextGeneration, putPosted, readPosted } from './tables.ts'

export const SEARCH_PARAMETER = 'SearchParameter'

export interface PostedWritesParts {
  readonly registry: Registry
  readonly indexer: Indexer
  readonly store: Store
  readonly types: ReadonlySet<string>
}

type Resource = Readonly<Record<string, unknown>>

const statusOf = (resource: Resource | undefined): PostedRow['status'] | undefined =>
  AT_WORK.find((status) => status === resource?.status)

/** The check that goes with every write of a SearchParameter. */
export const createPostedWrites = ({ registry, indexer, store, types }: PostedWritesParts): WriteCheck => {
  // Loaded with the first SearchParameter that is put to work, before its transaction.
  let compiler: PostedCompiler | undefined
  let toNodes: Awaited<ReturnType<Registry['toNodes']>> | undefined

  const compileAlone = (resource: Resource, loaded: PostedCompiler): CompiledParameter => {
    const definition = toDefinition(resource)
    checkElements(definition, types)
    return loaded.compile(definition, [])
  }
  const loadCompiler = async (): Promise<PostedCompiler> => {
    compiler = await registry.compiler()
    return compiler
  }
  /** A promise only while something has to be loaded: fhirpath.js takes a moment, and most expressions need none of it. */
  const check = (resource: Resource, loaded: PostedCompiler): void | Promise<void> => {
    const { component = [] } = toDefinition(resource)
    const compiled = compileAlone(resource, loaded)
    // What the components of a composite are is told by other definitions, which may come with the same Bundle.
    if (component.length > 0) return
    if (toNodes !== undefined || !compiled.columns.some(({ exotic }) => exotic === true))
      return checkCompiled(compiled, toNodes)
    return registry.toNodes().then((nodes) => {
      toNodes = nodes
      checkCompiled(compiled, nodes)
    })
  }

  const rowOf = ({ version: { rid, id } }: MadeChange, resource: Resource): PostedRow => ({
    rid,
    id,
    url: String(resource.url),
    status: statusOf(resource) as PostedRow['status'],
    body: JSON.stringify(toDefinition(resource)),
  })

  /** Throws what a row cannot be beside the others. `names`: may the refusal name this one of them? */
  const checkRow = (row: PostedRow, others: readonly PostedRow[], names: (other: PostedRow) => boolean): void => {
    const loaded = compiler as PostedCompiler
    const siblings = others.filter(({ status }) => status === 'active').map(definitionOf)
    let compiled: CompiledParameter | undefined
    if (row.status === 'active') {
      compiled = loaded.compile(definitionOf(row), siblings)
      checkCompiled(compiled, toNodes)
    }
    checkTogether(
      row,
      compiled,
      registry.packages,
      others.map((other) => {
        const definition = definitionOf(other)
        return { row: other, code: definition.code, bases: loaded.compile(definition, siblings).bases }
      }),
      names,
    )
  }

  /** Why a row cannot be put to work; undefined when it can. It names no SearchParameter that the caller may not see. */
  const refusalOf = async (
    transaction: Transaction,
    { restricted }: MadeChange,
    row: PostedRow,
    others: readonly PostedRow[],
  ): Promise<ServerError | undefined> => {
    let named: PostedRow | undefined
    const attempt = (isShown: boolean): ServerError | undefined => {
      try {
        checkRow(row, others, (other) => {
          named = other
          return isShown
        })
        return undefined
      } catch (error) {
        if (!isServerError(error)) throw error
        return error
      }
    }
    const refusal = attempt(restricted === undefined)
    if (restricted === undefined || named === undefined) return refusal
    const other = await store.within(transaction).read(SEARCH_PARAMETER, named.id)
    return other !== undefined && !other.deleted && restricted.sees(other) ? attempt(true) : refusal
  }

  /** The rows after the changes; undefined when none of them is or was at work. */
  const apply = async (
    transaction: Transaction,
    changes: readonly MadeChange[],
    refuse: (change: MadeChange, error: ServerError) => void,
  ): Promise<readonly PostedRow[] | undefined> => {
    const rows = new Map((await transaction.all<PostedRow>(readPosted, [])).map((row) => [row.rid, row]))
    const put: MadeChange[] = []
    let touched = false
    for (const change of changes) {
      const { rid } = change.version
      if (rows.delete(rid)) {
        touched = true
        await transaction.run(dropPosted, [rid])
      }
      if (change.resource !== undefined && statusOf(change.resource) !== undefined) put.push(change)
    }
    for (const change of put) rows.set(change.version.rid, rowOf(change, change.resource as Resource))
    for (const change of put) {
      const row = rows.get(change.version.rid) as PostedRow
      const others = [...rows.values()].filter(({ rid }) => rid !== row.rid)
      const refusal = await refusalOf(transaction, change, row, others)
      if (refusal !== undefined) refuse(change, refusal)
      const { rid, id, url, status, body } = row
      await transaction.run(putPosted, [rid, id, url, status, body])
    }
    return touched || put.length > 0 ? [...rows.values()] : undefined
  }

  return {
    name: 'search parameters',
    type: SEARCH_PARAMETER,
    examine({ resource }) {
      const status = statusOf(resource)
      if (status === undefined) return
      const examined = (loaded: PostedCompiler) => (status === 'active' ? check(resource, loaded) : undefined)
      return compiler === undefined ? loadCompiler().then(examined) : examined(compiler)
    },
    async confirm(_request, transaction, changes) {
      const ours = changes.filter(({ version, written }) => written && version.type === SEARCH_PARAMETER)
      if (ours.length === 0) return []
      // One at a time: each must see what the other has made.
      await store.hold(transaction, 'search-parameters')
      const refusals: RefusedChange[] = []
      const rows = await apply(
        transaction,
        ours,
        ({ interaction }, error) => void refusals.push({ interaction, error }),
      )
      if (refusals.length > 0 || rows === undefined) return refusals
      // With rows it has been loaded before, by what is posted here or at the start: nothing is read in here.
      const model = rows.length === 0 ? registry.packages : (compiler ?? (await loadCompiler())).merge(rows)
      await settleColumns(transaction, model.columns)
      await transaction.run(nextGeneration, [])
      return []
    },
    async committed() {
      await registry.refresh()
      indexer.kick()
    },
  }
}
