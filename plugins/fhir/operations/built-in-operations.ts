/** The operations of this plugin. */
import type { Definitions } from '../../packages/service.ts'
import type { Validator } from '../../validation/service.ts'
import type { BuiltInOperation } from './built-in.ts'
import { type EverythingParts, everythingOperations } from './everything.ts'
import { metaOperations } from './meta.ts'
import { type ValidateParts, validateOperation } from './validate.ts'

export interface BuiltInOperationParts {
  readonly definitions: Definitions
  /** Undefined when no plugin validates; then there is no $validate. */
  readonly validator: Validator | undefined
  /** Parts that exist once the server has started. */
  readonly late: () => EverythingParts & ReturnType<ValidateParts['late']>
}

export const builtInOperations = ({
  definitions,
  validator,
  late,
}: BuiltInOperationParts): readonly BuiltInOperation[] => [
  ...metaOperations,
  ...everythingOperations(late),
  ...(validator === undefined ? [] : [validateOperation({ validator, definitions, late })]),
]
