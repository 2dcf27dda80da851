/**
 * The refusal of what asks the index before it is complete. How far it is tells how many resources of a type there are, so
 * it is said only to who may find all of them.
 */
import { counted, type Ruling, ServerError } from '../../../kernel/index.ts'
import { extent } from '../access/extent.ts'
import { SearchIndexing } from '../errors.ts'
import type { ColumnRow } from './columns.ts'

type Progress = Pick<ColumnRow, 'type' | 'indexed' | 'expected'>

/** 503 without numbers, and with what is needed to make the same with them. */
class IndexingRefusal extends ServerError {
  readonly parameter: string
  readonly progress: Progress

  constructor(parameter: string, progress: Progress) {
    const { key, status, code, message } = SearchIndexing(parameter, '')
    super(key, status, code, message)
    this.parameter = parameter
    this.progress = progress
  }
}

const asRefusal = (error: ServerError): ServerError => error.with({ headers: { 'retry-after': '5' }, isExpected: true })

/** `parameter` as the client knows it. Says nothing of how far the index is. */
export const refuseIndexing = (parameter: string, progress: Progress): ServerError =>
  asRefusal(new IndexingRefusal(parameter, progress))

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
