/** Errors of reads and changes: missing and deleted resources, and conflicting versions. https://hl7.org/fhir/R4/http.html */
import { defineError } from '../../kernel/index.ts'

export const NotFound = defineError('fhir/not-found', 404, 'not-found', 'There is no %s/%s.')
export const VersionNotFound = defineError(
  'fhir/version-not-found',
  404,
  'not-found',
  'There is no version %s of %s/%s.',
)
export const Deleted = defineError('fhir/deleted', 410, 'deleted', '%s/%s was deleted.')
export const VersionDeleted = defineError(
  'fhir/version-deleted',
  410,
  'deleted',
  'Version %s of %s/%s is its deletion and has no content.',
)
export const UpdateAsCreateOff = defineError(
  'fhir/update-as-create-off',
  405,
  'not-supported',
  'There is no %s/%s and this server assigns ids itself; POST to %s, or set update_as_create.',
)
export const VersionConflict = defineError(
  'fhir/version-conflict',
  412,
  'conflict',
  'The current version of %s/%s is %s; If-Match names another. Read it again and repeat the change.',
)
export const ModifiedSince = defineError(
  'fhir/modified-since',
  412,
  'conflict',
  '%s/%s was changed at %s, later than If-Unmodified-Since says. Read it again and repeat the change.',
)
export const NoMatch = defineError('fhir/no-match', 412, 'conflict', 'There is no %s/%s for If-Match to match.')
export const Exists = defineError(
  'fhir/exists',
  412,
  'conflict',
  '%s/%s exists, and If-None-Match asks that it does not.',
)
export const Contended = defineError(
  'fhir/contended',
  409,
  'conflict',
  'Others change the same resources, or what is indexed of them, faster than this request could. Repeat it.',
)
export const WrittenBeside = defineError(
  'fhir/written-beside',
  503,
  'transient',
  'A server is running on this database and keeps resources in memory, so nothing was stored beside it. Stop that server, or send the change to it.',
)
