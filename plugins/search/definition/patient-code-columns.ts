/**
 * Combined columns for the most frequent search: resources of one patient with one code. Each row holds both keys, so
 * one index seek finds them, independent of how many resources the patient has or the code has.
 */
import type { PatientCodeColumn, StoredColumn, StoredParameter } from './stored-definitions.ts'

/**
 * Types of which one patient may have many resources. For other types it is fast enough to scan all of a patient's
 * resources.
 */
const TYPES = new Set([
  'Condition',
  'DiagnosticReport',
  'MedicationAdministration',
  'MedicationDispense',
  'MedicationRequest',
  'MedicationStatement',
  'Observation',
  'Procedure',
  'ServiceRequest',
])
const REFERENCE = 'patient'
const TOKEN = 'code'

export const addPatientCodeColumns = (
  parameters: readonly StoredParameter[],
  columns: readonly StoredColumn[],
  place: (column: StoredColumn) => number,
): readonly PatientCodeColumn[] => {
  /** The only column of a parameter. Undefined when it has several or needs fhirpath.js. */
  const columnOf = (type: string, code: string): number | undefined => {
    const found = parameters.find((one) => one.base === type && one.code === code)?.columns ?? []
    const [first] = found
    if (first === undefined || found.length > 1) return undefined
    return columns[first.column]?.exotic === true ? undefined : first.column
  }
  const pairs: PatientCodeColumn[] = []
  for (const type of TYPES) {
    const reference = columnOf(type, REFERENCE)
    const token = columnOf(type, TOKEN)
    if (reference === undefined || token === undefined) continue
    const [of, code] = [columns[reference], columns[token]] as [StoredColumn, StoredColumn]
    if (of.kind !== 'reference' || code.kind !== 'token') continue
    const column = place({
      type,
      kind: 'composite',
      expression: `${of.expression} & ${code.expression}`,
      branches: [{ steps: [], type }],
      components: [
        { kind: 'reference', branches: of.branches },
        { kind: 'token', branches: code.branches },
      ],
    })
    pairs.push({ column, reference, token })
  }
  return pairs
}
