/** The operations of this plugin. */
import type { Definitions } from '../../packages/service.ts'
import type { Validator } from '../../validation/service.ts'
import type { BuiltInOperation } from './built-in.ts'
import { everythingOperations } from './everything.ts'
import { metaOperations } from './meta.ts'
import { validateOperation } from './validate.ts'

export interface BuiltInOperationParts {
  readonly definitions: Definitions
  /** Without one there is no $validate. */
  readonly validator: Validator | undefined
}

export const builtInOperations = ({ definitions, validator }: BuiltInOperationParts): readonly BuiltInOperation[] => [
  ...metaOperations,
  ...everythingOperations,
  ...(validator === undefined ? [] : [validateOperation({ validator, definitions })]),
]
