/** Errors of the definitions. */
import { defineError } from '../../kernel/index.ts'

export const DefinitionReadOnly = defineError(
  'definitions/read-only',
  405,
  'not-supported',
  '%s/%s is the id of a definition of an installed package, which can only be read. To use another one in its place, store a resource with the same url.',
)
