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
export const NotText = defineError('import/not-utf8', 400, 'structure', 'It is not valid UTF-8.')
export const EntryKind = defineError(
  'import/entry-kind',
  400,
  'not-supported',
  'Its type in the archive is %s, which is not read.',
)
export const TooBlank = defineError(
  'import/too-blank',
  400,
  'too-costly',
  'It has more than %s {byte|bytes} of blank lines between two records, so the rest of it was not read.',
)
export const NoJson = defineError('import/no-json', 400, 'structure', 'It is no JSON object: %s.')
export const NoType = defineError('import/no-type', 400, 'required', 'It has no resourceType.')
export const EntryWithoutResource = defineError(
  'import/entry-without-resource',
  400,
  'required',
  'Bundle.entry[%s] has no resource.',
)
export const OtherType = defineError(
  'import/other-type',
  400,
  'value',
  'It is of type %s, and the file was announced as one of %s.',
)
export const SourceChanged = defineError(
  'import/changed',
  400,
  'conflict',
  'The file %s has changed since its import began, so the rest of it was not read.',
)
export const SourceSetting = defineError(
  'import/setting',
  500,
  'exception',
  '[import] sources = "%s" is neither an https URL without a query nor the absolute path of a directory.',
)
export const ImportOff = defineError(
  'import/off',
  501,
  'not-supported',
  'This server imports nothing over HTTP: the operator has listed no hosts or directories in [import] sources.',
)
export const ImportInBundle = defineError(
  'import/in-bundle',
  400,
  'not-supported',
  '$import is no entry of a Bundle; ask for it with a request of its own.',
)
export const ImportFormat = defineError(
  'import/format',
  400,
  'not-supported',
  'Files are read as application/fhir+ndjson; "%s" is something else.',
)
export const ImportStorage = defineError('import/storage', 400, 'not-supported', 'storageDetail.%s cannot be used: %s.')
export const ImportType = defineError(
  'import/type',
  400,
  'value',
  'The type "%s" of an input is that of no resource here.',
)
export const ImportUrl = defineError(
  'import/url',
  400,
  'value',
  'The url of an input is an absolute URL with https or file; "%s" is none.',
)
export const ImportSourceRefused = defineError(
  'import/source-refused',
  403,
  'forbidden',
  'Nothing may be imported from "%s": it is not among the hosts and directories that the operator has listed.',
)
export const ImportTwice = defineError('import/twice', 400, 'duplicate', 'The file "%s" is listed twice.')
export const ImportMany = defineError('import/many', 400, 'too-costly', 'At most %s files are imported by a request.')
export const ImportBusy = defineError(
  'import/busy',
  429,
  'throttled',
  'At most %s imports of a client run at a time. Wait for one, or end one with DELETE.',
)
export const ImportPolled = defineError(
  'import/polled',
  429,
  'throttled',
  'The import goes on; ask again in %s {second|seconds}.',
)
export const ImportUnknown = defineError('import/unknown', 404, 'not-found', 'There is no such import.')
export const ImportInput = defineError(
  'import/input',
  400,
  'value',
  'The parameter input is the number of a file, as the links of the finished import have it.',
)
export const ImportFailed = defineError('import/failed', 500, 'exception', 'The import has failed: %s')
export const SourceAway = defineError(
  'import/source-away',
  503,
  'transient',
  'The file %s could not be fetched: its host does not answer as it should.',
)
export const SourceStatus = defineError(
  'import/source-status',
  400,
  'not-found',
  'The file %s could not be fetched: its host answers with the status %s.',
)
export const SourceRedirects = defineError(
  'import/source-redirects',
  400,
  'not-supported',
  'The file %s could not be fetched: its host redirects too often.',
)
export const SourceAddress = defineError(
  'import/source-address',
  403,
  'forbidden',
  'The file %s is not fetched: its host lies at an address that is not public.',
)
export const SourceLarge = defineError(
  'import/source-large',
  400,
  'too-long',
  'The file %s has more than %s {byte|bytes}; the rest of it was not read.',
)
export const SourceMissing = defineError('import/source-missing', 400, 'not-found', 'There is no file %s.')
