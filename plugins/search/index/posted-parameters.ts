/** Changes the rows of SearchParameters that clients have written, and refuses those that are invalid beside the others. */
import { isServerError, type ServerError } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import type { AppliedChange, VersionStore } from '../../storage/service.ts'
import { checkTogether } from '../definition/check-client-parameter.ts'
import {
  type ClientParameterCompiler,
  type ClientParameterRow,
  type CompiledParameter,
  definitionOf,
} from '../definition/client-parameters.ts'
import type { ClientCompilation } from './client-compilation.ts'
import { rowOf, statusOf } from './posted-row.ts'
import type { Registry } from './registry.ts'
import { dropPosted, putPosted, readPosted } from './tables.ts'

type Resource = Readonly<Record<string, unknown>>

export const SEARCH_PARAMETER = 'SearchParameter'

/** The compiler has to be loaded when rows are put. */
export const createPostedParameters = (
  registry: Pick<Registry, 'packages'>,
  store: Pick<VersionStore, 'within'>,
  compilation: ClientCompilation,
) => {
  /**
   * Throws 422 where a row is invalid or conflicts with the others. `names` returns whether the error may name the
   * other one.
   */
  const checkRow = (
    row: ClientParameterRow,
    others: readonly ClientParameterRow[],
    names: (other: ClientParameterRow) => boolean,
  ): void => {
    const loaded = compilation.compiler() as ClientParameterCompiler
    const siblings = others.filter(({ status }) => status === 'active').map(definitionOf)
    let compiled: CompiledParameter | undefined
    if (row.status === 'active') {
      compiled = loaded.compile(definitionOf(row), siblings)
      compilation.checkCompiled(compiled)
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
  return async (
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
}
