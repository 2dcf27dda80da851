/**
 * The refusal of what asks the index before it is complete. How far it is tells how many resources of a type there are, so
 * it is said only to who may find all of them.
 */
import { ServerError } from '../../../kernel/index.ts'
import { SearchIndexing } from '../errors.ts'
import type { ColumnRow } from './columns.ts'

type Progress = Pick<ColumnRow, 'type' | 'indexed' | 'expected'>

/** 503 without numbers, and with what is needed to make the same with them. */
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

/** `parameter` as the client knows it. Says nothing of how far the index is. */
export const refuseIndexing = (parameter: string, progress: Progress): ServerError =>
  asRefusal(new IndexingRefusal(parameter, progress))
