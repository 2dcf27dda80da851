/** One attempt at an export. */
import type { Database } from '../database/service.ts'
import type { AsOfOptions, AsOfResource, Resources, Session } from '../fhir/service.ts'
import { callerOfJob, type RunningJob } from '../jobs/service.ts'
import type { ResourceType } from '../model/service.ts'
import type { ExportFolder } from './export-folder.ts'
import type { ExportSpec } from './export-spec.ts'
import { membersOf } from './members-of.ts'
import { type PartRow, readParts } from './tables.ts'
import { restrictionsOf, writeParts } from './write-parts.ts'

const PURPOSE = 'export'

export interface ExportRunParts {
  readonly database: Database
  readonly resources: Resources
  readonly folder: ExportFolder
  readonly types: () => ReadonlyMap<string, ResourceType>
}

/** The members of the Group as it was at the time of the export. */
const membersAsOf = async (server: Session, id: string, upTo: number): Promise<ReadonlySet<string>> => {
  for await (const { json } of server.history({ type: 'Group', id, upTo: Math.floor(upTo / 1000) }))
    return json === undefined ? new Set() : membersOf(JSON.parse(json) as Record<string, unknown>, upTo)
  return new Set()
}

const patientsOf = async (
  server: Session,
  { level, group, patients }: ExportSpec,
  upTo: number,
): Promise<AsOfOptions['patients']> => {
  if (level === 'system') return undefined
  const named = patients === undefined ? undefined : new Set(patients)
  if (group === undefined) return named ?? 'any'
  const members = await membersAsOf(server, group, upTo)
  return named === undefined ? members : new Set([...named].filter((id) => members.has(id)))
}

export const createRunExport =
  ({ database, resources, folder, types }: ExportRunParts) =>
  async (job: RunningJob): Promise<void> => {
    const spec = JSON.parse(job.spec) as ExportSpec
    const { baseUrl, filters } = spec
    const { signal } = job
    const server = resources.as({ kind: 'internal', purpose: PURPOSE, baseUrl, signal })
    const caller = callerOfJob(job)
    const restrictions = restrictionsOf(job)
    const session = resources.as({ kind: 'stored', caller, restrictions, purpose: PURPOSE, baseUrl, signal })
    const filterOf = async (type: string) => {
      const queries = filters[type]
      if (queries === undefined) return undefined
      const matchers = await Promise.all(queries.map((query) => server.matches(type, query)))
      return (resource: AsOfResource): boolean => {
        const subject = server.subject(resource, JSON.parse(resource.json) as object)
        return matchers.some((matcher) => matcher?.test(subject) === true)
      }
    }
    const path = await folder.make(job.id)
    const patients = await patientsOf(server, spec, job.upto)
    const done = await database.all<PartRow>(readParts, [job.id])
    await writeParts({ job, spec, session, folder, path, types: types(), patients, filterOf }, done)
  }
