/** What can be wrong with a value set or a code system. */
import { defineError } from '../../kernel/index.ts'

export const NotExpandable = defineError(
  'terminology/not-expandable',
  400,
  'not-supported',
  'The value set "%s" cannot be expanded here: %s.',
)
export const TooManyCodes = defineError(
  'terminology/too-many-codes',
  400,
  'too-costly',
  'The value set or hierarchy "%s" stands for more than %s codes. Choose a smaller one.',
)
export const NoHierarchy = defineError(
  'terminology/no-hierarchy',
  400,
  'not-supported',
  'What is above or below "%s" is not known here: %s.',
)
