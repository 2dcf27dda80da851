/** Errors → OperationOutcome, https://hl7.org/fhir/R4/operationoutcome.html */

import { Internal } from './errors.ts'
import { errorsFirst } from './errors-first.ts'
import type { Issue } from './issue.ts'
import { ServerError } from './server-error.ts'

export interface OperationOutcome {
  readonly resourceType: 'OperationOutcome'
  readonly issue: readonly Issue[]
}

/** The error a client may see: our own as it is, anything else as a 500 without detail. */
export const toServerError = (error: unknown): ServerError => {
  if (error instanceof ServerError) return error
  const hidden = Internal().with({ cause: error })
  const named = error as { plugin?: string; hook?: string } | null
  if (typeof named?.plugin === 'string') hidden.plugin = named.plugin
  if (typeof named?.hook === 'string') hidden.hook = named.hook
  return hidden
}

export const toIssues = (error: ServerError): readonly Issue[] => {
  if (error.extras.issues !== undefined) return errorsFirst(error.extras.issues)
  const issue: Issue = { severity: 'error', code: error.code, diagnostics: error.message }
  return [error.extras.expression === undefined ? issue : { ...issue, expression: error.extras.expression }]
}

export const toOutcome = (error: ServerError): OperationOutcome => ({
  resourceType: 'OperationOutcome',
  issue: toIssues(error),
})
