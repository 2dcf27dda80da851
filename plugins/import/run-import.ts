/** One attempt at an import over HTTP. */
import type { Clock, Restriction } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Resources } from '../fhir/service.ts'
import { callerOfJob, type RunningJob } from '../jobs/service.ts'
import { type AllowedSources, shownUrl } from './allowed-sources.ts'
import { fetchFile } from './fetch-file.ts'
import type { ImportSource, OpenedFile } from './find-sources.ts'
import { importFiles } from './import-files.ts'
import { type ImportSpec, sourceIdOf } from './import-spec.ts'
import { openListedFile } from './open-listed-file.ts'
import { IMPORT_KIND } from './operations.ts'
import { plainBytes } from './plain-bytes.ts'
import { toErrorLine } from './refused-record.ts'
import type { RefusedRecord } from './service.ts'
import { addError, countErrors } from './tables.ts'

const MAX_ERRORS = 10_000 // stored errors; all are counted

export interface ImportRunParts {
  readonly database: Database
  readonly resources: Resources
  readonly clock: Clock
  readonly allowed: AllowedSources
  readonly maxFileBytes: number
}

export const createRunImport = ({ database, resources, clock, allowed, maxFileBytes }: ImportRunParts) => {
  const open = async (url: string, name: string, signal: AbortSignal): Promise<OpenedFile> => {
    const file = allowed.find(url)
    const { bytes, mark } =
      file.kind === 'file'
        ? await openListedFile(file, name)
        : await fetchFile({ allowed, deadline: clock.deadline, signal }, file)
    return { bytes: plainBytes(bytes, name, maxFileBytes), mark }
  }
  return async (job: RunningJob): Promise<void> => {
    const { inputs, baseUrl, batch } = JSON.parse(job.spec) as ImportSpec
    const { signal } = job
    const restrictions = JSON.parse(job.ruling) as readonly Restriction[]
    const session = resources.as({
      ...{ kind: 'stored', caller: callerOfJob(job), restrictions, purpose: IMPORT_KIND, baseUrl, signal },
      // Files of an export contain ids of resources.
      updateAsCreate: true,
    })
    const sources = inputs.map(({ type, url }, at): ImportSource => {
      const name = shownUrl(new URL(url))
      return { id: sourceIdOf(job.id, at), name, bytes: 0, form: 'lines', type, open: () => open(url, name, signal) }
    })
    let errors = Number((await database.get<{ n: number }>(countErrors, [job.id]))?.n ?? 0)
    let [resumed, failed] = [0, 0]
    await importFiles(
      {
        ...{ database, session, clock, batchRecords: batch },
        transact: job.write,
        fence: job.fence,
        pause: () => job.pause(),
        resume: () => job.resume(),
        note: (source) => async (transaction, record: RefusedRecord) => {
          if (errors > MAX_ERRORS) return
          const outcome = JSON.stringify(toErrorLine(record))
          await transaction.run(addError, [job.id, sources.indexOf(source), record.line ?? 0, outcome])
        },
        listener: {
          resumed(_name, before) {
            resumed += before
          },
          refused() {
            failed += 1
            errors += 1
          },
          progress({ resources: stored, name }) {
            const at = sources.findIndex((source) => source.name === name)
            job.report(`${resumed + stored} stored, ${failed} refused, file ${at + 1} of ${sources.length}`)
          },
        },
      },
      sources,
      { isDryRun: false, isAgain: false, parallel: 1 },
    )
  }
}
