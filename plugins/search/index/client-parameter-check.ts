/**
 * Checks SearchParameter resources when they are written, before the transaction and inside it. The same transaction
 * adds their columns to the index, so that the resource and its columns are committed together.
 */
import type { ServerError } from '../../../kernel/index.ts'
import { isServerError } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import type { AppliedChange, RejectedChange, VersionStore, WriteCheck } from '../../storage/service.ts'
import { checkCompiled, checkElements, checkTogether } from '../definition/check-client-parameter.ts'
import {
  ACTIVE,
  type ClientParameterCompiler,
  type ClientParameterRow,
  type CompiledParameter,
  definitionOf,
  toDefinition,
} from '../definition/client-parameters.ts'
import type { BackfillWorker } from './backfill/backfill-worker.ts'
import { settleColumns } from './columns.ts'
import type { Registry } from './registry.ts'
import { dropPosted, nextGeneration, POSTING, putPosted, readPosted } from './tables.ts'

export const SEARCH_PARAMETER = 'SearchParameter'

export interface ClientParameterCheckParts {
  readonly registry: Registry
  readonly indexer: BackfillWorker
  readonly store: VersionStore
  readonly types: ReadonlySet<string>
}

type Resource = Readonly<Record<string, unknown>>

const statusOf = (resource: Resource | undefined): ClientParameterRow['status'] | undefined =>
  ACTIVE.find((status) => status === resource?.status)

/** The check that goes with every write of a SearchParameter. */
export const createClientParameterCheck = ({
  registry,
  indexer,
  store,
  types,
}: ClientParameterCheckParts): WriteCheck => {
  // Loaded before the transaction of the first SearchParameter that is active or retired.
  let compiler: ClientParameterCompiler | undefined
  let toNodes: Awaited<ReturnType<Registry['toNodes']>> | undefined

  const compileAlone = (resource: Resource, loaded: ClientParameterCompiler): CompiledParameter => {
    const definition = toDefinition(resource)
    checkElements(definition, types)
    return loaded.compile(definition, [])
  }
  const loadCompiler = async (): Promise<ClientParameterCompiler> => {
    compiler = await registry.compiler()
    return compiler
  }
  /** Returns a promise only while fhirpath.js has to be loaded, which takes a moment and which few expressions need. */
  const check = (resource: Resource, loaded: ClientParameterCompiler): void | Promise<void> => {
    const { component = [] } = toDefinition(resource)
    const compiled = compileAlone(resource, loaded)
    // The kinds of a composite's components depend on other definitions, which the same Bundle may bring: they are
    // checked inside the transaction.
    if (component.length > 0) return
    if (toNodes !== undefined || !compiled.columns.some(({ exotic }) => exotic === true))
      return checkCompiled(compiled, toNodes)
    return registry.toNodes().then((nodes) => {
      toNodes = nodes
      checkCompiled(compiled, nodes)
    })
  }

  const rowOf = ({ version: { rid, id } }: AppliedChange, resource: Resource): ClientParameterRow => ({
    rid,
    id,
    url: String(resource.url),
    status: statusOf(resource) as ClientParameterRow['status'],
    body: JSON.stringify(toDefinition(resource)),
  })

  /**
   * Throws 422 where a row is invalid or conflicts with the others. `names` returns whether the error may name the
   * other one.
   */
  const checkRow = (
    row: ClientParameterRow,
    others: readonly ClientParameterRow[],
    names: (other: ClientParameterRow) => boolean,
  ): void => {
    const loaded = compiler as ClientParameterCompiler
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

  /**
   * Returns the error for a row that is refused, undefined for a valid one. The error names no SearchParameter that
   * the caller may not see.
   */
  const refusalOf = async (
    transaction: Transaction,
    { restricted }: AppliedChange,
    row: ClientParameterRow,
    others: readonly ClientParameterRow[],
  ): Promise<ServerError | undefined> => {
    let named: ClientParameterRow | undefined
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

  /**
   * Returns all rows as they are after the changes. Undefined when neither the old nor the new version of any of them
   * is active or retired.
   */
  const apply = async (
    transaction: Transaction,
    changes: readonly AppliedChange[],
    refuse: (change: AppliedChange, error: ServerError) => void,
  ): Promise<readonly ClientParameterRow[] | undefined> => {
    const rows = new Map((await transaction.all<ClientParameterRow>(readPosted, [])).map((row) => [row.rid, row]))
    const put: AppliedChange[] = []
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
      const row = rows.get(change.version.rid) as ClientParameterRow
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
    checkContent({ resource }) {
      const status = statusOf(resource)
      if (status === undefined) return
      const examined = (loaded: ClientParameterCompiler) => (status === 'active' ? check(resource, loaded) : undefined)
      return compiler === undefined ? loadCompiler().then(examined) : examined(compiler)
    },
    async checkInTransaction(_request, transaction, changes) {
      const ours = changes.filter(({ version, written }) => written && version.type === SEARCH_PARAMETER)
      if (ours.length === 0) return []
      // One transaction at a time, so that each sees the SearchParameters of the one before.
      await store.advisoryLock(transaction, POSTING)
      const refusals: RejectedChange[] = []
      const rows = await apply(
        transaction,
        ours,
        ({ interaction }, error) => void refusals.push({ interaction, error }),
      )
      if (refusals.length > 0 || rows === undefined) return refusals
      // When there are rows, the compiler is loaded already, by an earlier check or at the start, so nothing is read
      // inside the transaction.
      const model = rows.length === 0 ? registry.packages : (compiler ?? (await loadCompiler())).merge(rows)
      await settleColumns(transaction, model.columns)
      await transaction.run(nextGeneration, [])
      return []
    },
    async afterCommit() {
      await registry.refresh()
      indexer.wake()
    },
  }
}
