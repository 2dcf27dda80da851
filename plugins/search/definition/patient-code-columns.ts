/**
 * Columns for what is asked most: one patient's resources with one code. Each row holds both, so that they are found by
 * one seek, however many resources the patient has and however many patients the code.
 */
import type { PatientCodeColumn, StoredColumn, StoredParameter } from './stored-definitions.ts'

/** Of these a patient has many: of others all there are of a patient are looked through as quickly. */
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
  /** The one column of a parameter that holds nothing but paths. */
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
