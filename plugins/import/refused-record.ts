/** A refused record as an OperationOutcome that names its file and line. */
import { type OperationOutcome, toOutcome, toServerError } from '../../kernel/index.ts'
import type { RefusedRecord } from './service.ts'

export const toErrorLine = ({ file, line, error }: RefusedRecord): OperationOutcome => {
  const place = line === undefined ? file : `${file}:${line}`
  const { issue } = toOutcome(toServerError(error))
  return {
    resourceType: 'OperationOutcome',
    issue: issue.map((one) => ({ ...one, diagnostics: `${place}: ${one.diagnostics ?? one.code}` })),
  }
}
