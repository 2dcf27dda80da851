/** Refusals of references. All issues go with them. */
import { defineError } from '../../kernel/index.ts'

export const ReferencesRefused = defineError(
  'references/refused',
  422,
  'business-rule',
  'The resource has references that may not stand; the issues say which.',
)
export const StillReferenced = defineError(
  'references/still-referenced',
  409,
  'conflict',
  '%s cannot be deleted: %s refer to it. Delete them before it, or together with it in one transaction.',
)
