/** Errors of an import: what a file holds, and how the command was called. */
import { defineError } from '../../kernel/index.ts'

export const PathMissing = defineError('import/path-missing', 400, 'not-found', 'There is no file or directory %s.')
export const PathKind = defineError(
  'import/path-kind',
  400,
  'not-supported',
  'The file %s cannot be imported: its name ends with none of %s.',
)
export const NothingToImport = defineError(
  'import/nothing',
  400,
  'not-found',
  'The directory %s has no file whose name ends with one of %s.',
)
export const Unreadable = defineError('import/unreadable', 400, 'invalid', 'The file %s cannot be read: %s.')
export const TooLong = defineError(
  'import/too-long',
  400,
  'too-long',
  'A resource or Bundle may have %s {byte|bytes} in a file; this one has more.',
)
export const NoJson = defineError('import/no-json', 400, 'structure', 'It is no JSON object: %s.')
export const NoType = defineError('import/no-type', 400, 'required', 'It has no resourceType.')
export const EntryWithoutResource = defineError(
  'import/entry-without-resource',
  400,
  'required',
  'Bundle.entry[%s] has no resource.',
)
