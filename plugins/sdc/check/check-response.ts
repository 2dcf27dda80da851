/** Checks a response. */
import type { Issue } from '../../../kernel/index.ts'
import type { Evaluator } from '../expressions/evaluator.ts'
import type { Ask } from '../threads/ask.ts'
import type { CheckInput } from './check-contract.ts'

export const checkResponse = async (
  _input: CheckInput,
  _parts: { readonly evaluator: Evaluator | undefined; readonly ask: Ask },
): Promise<readonly Issue[]> => []
