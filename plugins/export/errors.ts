/** Errors of $export. https://hl7.org/fhir/uv/bulkdata/STU2/export.html */
import { defineError } from '../../kernel/index.ts'

export const ExportOff = defineError(
  'export/off',
  501,
  'not-supported',
  'This server exports nothing: the operator has set no folder for it, [export] dir.',
)
export const ExportInBundle = defineError(
  'export/in-bundle',
  400,
  'not-supported',
  '$export is no entry of a Bundle; ask for it with a request of its own.',
)
export const ExportAnswerFormat = defineError(
  'export/answer-format',
  406,
  'not-supported',
  'The answer to $export is FHIR in JSON; send Accept: application/fhir+json.',
)
export const ExportFormat = defineError(
  'export/format',
  400,
  'not-supported',
  'Files are written as application/fhir+ndjson; "%s" asks for something else.',
)
export const ExportType = defineError(
  'export/type',
  400,
  'value',
  'The type "%s" cannot be exported here: %s. Leave it out of _type and _typeFilter.',
)
export const ExportFilter = defineError(
  'export/filter',
  400,
  'not-supported',
  'The _typeFilter "%s" cannot be used: %s.',
)
export const ExportElements = defineError(
  'export/elements',
  400,
  'value',
  'The parameter _elements lists names of elements, such as id or Patient.name; "%s" is none.',
)
export const ExportPatient = defineError(
  'export/patient',
  400,
  'not-found',
  'The parameter patient names "%s", which is %s.',
)
export const ExportPatients = defineError(
  'export/patients',
  400,
  'too-costly',
  'At most %s patients are taken; make a Group of them.',
)
export const ExportUndecidable = defineError(
  'export/undecidable',
  403,
  'forbidden',
  'Your access to %s depends on other resources, so it cannot be exported; name other types in _type.',
)
export const ExportBusy = defineError(
  'export/busy',
  429,
  'throttled',
  'At most %s exports of a client run at a time. Wait for one, or end one with DELETE.',
)
export const ExportPolled = defineError(
  'export/polled',
  429,
  'throttled',
  'The export goes on; ask again in %s {second|seconds}.',
)
export const ExportUnknown = defineError('export/unknown', 404, 'not-found', 'There is no such export.')
export const ExportPart = defineError(
  'export/part',
  400,
  'value',
  'The parameter part is the number of a file, as the links of the finished export have it.',
)
export const ExportNarrower = defineError(
  'export/narrower',
  403,
  'forbidden',
  'The file was made with more access to %s than you have now.',
)
export const ExportFailed = defineError('export/failed', 500, 'exception', 'The export has failed: %s')
export const ExportFiles = defineError(
  'export/files',
  500,
  'exception',
  'The files of the export could not be written or read.',
)
