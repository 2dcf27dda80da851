/** Adds the progress of the index to the error 503, for callers who may search for all resources of the type. */
import { counted, type Ruling } from '../../../kernel/index.ts'
import { SearchIndexing } from '../errors.ts'
import { asRefusal, IndexingRefusal } from '../index/indexing-refusal.ts'
import { extent } from './extent.ts'

/** Returns the error itself, or one with the progress where the ruling allows it. */
export const withProgress = (error: unknown, ruling: Ruling): unknown => {
  if (!(error instanceof IndexingRefusal)) return error
  const { parameter, progress } = error
  const { type, indexed, expected } = progress
  if (extent(ruling, type, 's') !== 'all') return error
  // The backfill has just begun and has not counted the resources yet.
  const all = expected === 0 ? 'all resources' : counted(expected, 'resource')
  return asRefusal(SearchIndexing(parameter, `: ${indexed} of ${all} ${expected === 1 ? 'is' : 'are'} done`))
}
