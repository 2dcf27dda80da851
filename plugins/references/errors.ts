/** Errors of references; each carries all issues of its resource. */
import { defineError } from '../../kernel/index.ts'

export const ReferencesRefused = defineError(
  'references/refused',
  422,
  'business-rule',
  'The resource has references that may not stand; the issues say which.',
)
export const ReferredTo = defineError(
  'references/referred-to',
  409,
  'conflict',
  '%s cannot be deleted: it is referred to. Delete what refers to it before it, or together with it in one transaction.',
)
export const StillReferenced = defineError(
  'references/still-referenced',
  409,
  'conflict',
  '%s cannot be deleted: it is referred to by %s. Delete what refers to it before, or together with it in one transaction.',
)
