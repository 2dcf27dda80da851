/** Extracts resources. */
import type { Evaluator } from '../expressions/evaluator.ts'
import type { Ask } from '../threads/ask.ts'
import type { Extracted, ExtractInput } from './extract-contract.ts'

export const extract = async (_input: ExtractInput, _evaluator: Evaluator, _ask: Ask): Promise<Extracted> => ({
  bundle: undefined,
  issues: [],
})
