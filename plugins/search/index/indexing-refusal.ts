/**
 * The error 503 for searches that need a column which is not complete. Progress reveals how many resources of a type
 * there are, so only callers who may see all of them get the numbers.
 */
import { ServerError } from '../../../kernel/index.ts'
import { SearchIndexing } from '../errors.ts'
import type { ColumnRow } from './columns.ts'

type Progress = Pick<ColumnRow, 'type' | 'indexed' | 'expected'>

/** The 503 without numbers. It carries the progress, from which the error with numbers can be made. */
export class IndexingRefusal extends ServerError {
  readonly parameter: string
  readonly progress: Progress

  constructor(parameter: string, progress: Progress) {
    const { key, status, code, message } = SearchIndexing(parameter, '')
    super(key, status, code, message)
    this.parameter = parameter
    this.progress = progress
  }
}

export const asRefusal = (error: ServerError): ServerError =>
  error.with({ headers: { 'retry-after': '5' }, isExpected: true })

/** `parameter`: the name that the client used. The error contains no progress. */
export const refuseIndexing = (parameter: string, progress: Progress): ServerError =>
  asRefusal(new IndexingRefusal(parameter, progress))
