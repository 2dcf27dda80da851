/** The operations of this plugin. */
import type { Definitions } from '../../packages/service.ts'
import type { Validator } from '../../validation/service.ts'
import { everythingOperations } from './everything.ts'
import { metaOperations } from './meta.ts'
import type { OwnOperation } from './own.ts'
import { validateOperation } from './validate.ts'

export interface OwnOperationParts {
  readonly definitions: Definitions
  /** Without one there is no $validate. */
  readonly validator: Validator | undefined
}

export const ownOperations = ({ definitions, validator }: OwnOperationParts): readonly OwnOperation[] => [
  ...metaOperations,
  ...everythingOperations,
  ...(validator === undefined ? [] : [validateOperation({ validator, definitions })]),
]
