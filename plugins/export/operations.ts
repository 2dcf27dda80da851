/** $export of the system, of all patients and of a Group. https://hl7.org/fhir/uv/bulkdata/STU2/export.html */
import type { Random } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import { acceptedFormat, type Invocation, type Operation, type OperationParameter } from '../fhir/service.ts'
import { begunAnswer, type Jobs, newJobId, ownerOf } from '../jobs/service.ts'
import { ExportAnswerFormat, ExportBusy, ExportInBundle, ExportOff } from './errors.ts'
import type { ExportSpec } from './export-spec.ts'
import { readSpec, type SpecParts } from './read-spec.ts'

export const EXPORT_KIND = 'export'
const MAX_OPEN = 2 // exports of a caller at a time
const BUSY_SECONDS = 60

export interface ExportOperationParts {
  readonly database: Database
  readonly jobs: Jobs
  readonly random: Random
  /** Once the server has started. */
  readonly late: () => {
    readonly spec: SpecParts
    readonly store: { settle(): Promise<void>; closeTime(): number }
  }
}

const PARAMETERS: readonly OperationParameter[] = [
  { name: '_outputFormat', type: 'string', documentation: 'application/fhir+ndjson, application/ndjson or ndjson.' },
  { name: '_since', type: 'instant', documentation: 'Only what was changed after that moment, and what was deleted.' },
  { name: '_type', type: 'string', max: '*', documentation: 'Only these types, separated by commas.' },
  {
    name: '_typeFilter',
    type: 'string',
    max: '*',
    documentation: 'Searches such as Observation?code=x: of their types only resources that match one of them.',
  },
  { name: '_elements', type: 'string', max: '*', documentation: 'Only these elements, and those that are mandatory.' },
]
const PATIENT: OperationParameter = {
  name: 'patient',
  type: 'Reference',
  max: '*',
  documentation: 'Only the data of these patients; in a Parameters resource.',
}

const LEVELS = [
  { level: 'system', levels: ['system'], definition: 'export', of: 'all resources' },
  { level: 'patient', levels: ['type'], types: ['Patient'], definition: 'patient-export', of: 'the data of patients' },
  { level: 'group', levels: ['instance'], types: ['Group'], definition: 'group-export', of: 'the data of a Group' },
] as const

const kickOff = async (parts: ExportOperationParts, invocation: Invocation, level: ExportSpec['level']) => {
  const { database, jobs, random, late } = parts
  const { request, interaction, ruling } = invocation
  if (interaction.entry !== undefined) throw ExportInBundle()
  if (acceptedFormat(request.headers.accept) !== 'json') throw ExportAnswerFormat()
  const { spec: specParts, store } = late()
  const spec = await readSpec(specParts, invocation, level)
  const owner = ownerOf(request.caller)
  const id = newJobId(random)
  await store.settle()
  await database.transact(async (transaction) => {
    if ((await jobs.countOpen(transaction, { kind: EXPORT_KIND, ...owner })) >= MAX_OPEN)
      throw ExportBusy(MAX_OPEN).with({ headers: { 'retry-after': String(BUSY_SECONDS) } })
    const job = {
      id,
      kind: EXPORT_KIND,
      ...owner,
      spec: JSON.stringify(spec),
      ruling: JSON.stringify(ruling.restrictions),
    }
    await jobs.enqueue(transaction, { ...job, upto: store.closeTime() })
  })
  jobs.wake()
  return begunAnswer('export', `${request.baseUrl}/export/${id}`)
}

const describe = ({ levels, definition, of, level, ...more }: (typeof LEVELS)[number]) => ({
  code: 'export',
  definition: `http://hl7.org/fhir/uv/bulkdata/OperationDefinition/${definition}`,
  documentation: `Writes ${of} to files, in the background.`,
  levels,
  ...more,
  parameters: level === 'system' ? PARAMETERS : [...PARAMETERS, PATIENT],
  requestClass: 'export' as const,
})

export const exportOperations = (parts: ExportOperationParts): readonly Operation[] =>
  LEVELS.map((level) => ({
    ...describe(level),
    isWriters: true,
    answer: (invocation) => kickOff(parts, invocation, level.level),
  }))

/** What the operations answer where no folder is set. */
export const refusedOperations = (): readonly Operation[] =>
  LEVELS.map((level) => ({
    ...describe(level),
    isListed: false,
    answer() {
      throw ExportOff().with({ isExpected: true })
    },
  }))
