/** Errors of patches. RFC 5789, section 2.2; https://hl7.org/fhir/R4/http.html#patch */
import { defineError } from '../../../kernel/index.ts'

export const PatchType = defineError(
  'fhir/patch-type',
  415,
  'not-supported',
  'A patch of type "%s" is not supported. Send JSON Patch as application/json-patch+json, JSON Merge Patch as application/merge-patch+json, or FHIRPath Patch as application/fhir+json or application/fhir+xml.',
)
export const PatchEmpty = defineError(
  'fhir/patch-empty',
  400,
  'structure',
  'The body is empty; send a JSON Patch, a JSON Merge Patch or a FHIRPath Patch.',
)
export const PatchMalformed = defineError('fhir/patch-malformed', 400, 'structure', 'The patch is not one: %s.')
export const PatchTooLarge = defineError(
  'fhir/patch-too-large',
  413,
  'too-costly',
  'The patch asks for too much: %s. Send an update instead.',
)
export const PatchPath = defineError(
  'fhir/patch-path',
  422,
  'processing',
  'Operation %s of the patch cannot be applied to "%s": %s. Nothing was changed.',
)
export const PatchTestFailed = defineError(
  'fhir/patch-test-failed',
  422,
  'processing',
  'Operation %s of the patch tests "%s", which is not what the resource holds. Nothing was changed.',
)
export const PatchImmutable = defineError(
  'fhir/patch-immutable',
  422,
  'business-rule',
  'The patch would change %s, which is the server’s. Nothing was changed.',
)
