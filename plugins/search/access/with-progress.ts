/** How far the index is, in the refusal of what asks it before it is complete: only for who may find all resources. */
import { counted, type Ruling } from '../../../kernel/index.ts'
import { SearchIndexing } from '../errors.ts'
import { asRefusal, IndexingRefusal } from '../index/indexing-refusal.ts'
import { extent } from './extent.ts'

/** The same error, or one that says how far the index is where the ruling lets all resources of the type be found. */
export const withProgress = (error: unknown, ruling: Ruling): unknown => {
  if (!(error instanceof IndexingRefusal)) return error
  const { parameter, progress } = error
  const { type, indexed, expected } = progress
  if (extent(ruling, type, 's') !== 'all') return error
  // Not counted yet, in the first moment.
  const all = expected === 0 ? 'all resources' : counted(expected, 'resource')
  return asRefusal(SearchIndexing(parameter, `: ${indexed} of ${all} ${expected === 1 ? 'is' : 'are'} done`))
}
