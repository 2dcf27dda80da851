/**
 * Checks SearchParameter resources when they are written, before the transaction and inside it. The same transaction
 * adds their columns to the index, so that the resource and its columns are committed together.
 */
import type { RejectedChange, VersionStore, WriteCheck } from '../../storage/service.ts'
import type { ClientParameterCompiler } from '../definition/client-parameters.ts'
import type { BackfillWorker } from './backfill/backfill-worker.ts'
import { createClientCompilation } from './client-compilation.ts'
import { settleColumns } from './columns.ts'
import { countGeneration } from './count-generation.ts'
import { createPostedParameters, SEARCH_PARAMETER } from './posted-parameters.ts'
import { statusOf } from './posted-row.ts'
import type { Registry } from './registry.ts'
import { POSTING } from './tables.ts'

export interface ClientParameterCheckParts {
  readonly registry: Registry
  readonly indexer: BackfillWorker
  readonly store: VersionStore
  readonly types: ReadonlySet<string>
}

/** The check that goes with every write of a SearchParameter. */
export const createClientParameterCheck = ({
  registry,
  indexer,
  store,
  types,
}: ClientParameterCheckParts): WriteCheck => {
  const compilation = createClientCompilation(registry, types)
  const apply = createPostedParameters(registry, store, compilation)

  return {
    name: 'search parameters',
    type: SEARCH_PARAMETER,
    checkContent({ resource }) {
      const status = statusOf(resource)
      if (status === undefined) return
      const examined = (loaded: ClientParameterCompiler) =>
        status === 'active' ? compilation.check(resource, loaded) : undefined
      const compiler = compilation.compiler()
      return compiler === undefined ? compilation.load().then(examined) : examined(compiler)
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
      const model =
        rows.length === 0 ? registry.packages : (compilation.compiler() ?? (await compilation.load())).merge(rows)
      await settleColumns(transaction, model.columns)
      await countGeneration(transaction)
      return []
    },
    async afterCommit() {
      await registry.refresh()
      indexer.wake()
    },
  }
}
