/** The answer to a finished import: what was stored of each file, and where its refusals are. */
import type { JobRow } from '../jobs/service.ts'
import { type ImportSpec, sourceIdOf } from './import-spec.ts'
import type { JobSourceRow } from './tables.ts'

export const toImportManifest = (
  { id, spec, created }: Pick<JobRow, 'id' | 'spec' | 'created'>,
  rows: readonly JobSourceRow[],
  baseUrl: string,
): object => {
  const { request, inputs } = JSON.parse(spec) as ImportSpec
  const byId = new Map(rows.map((row) => [row.id, row]))
  const files = inputs.map(({ type, url }, at) => {
    const { resources = 0, failed = 0 } = byId.get(sourceIdOf(id, at)) ?? {}
    return { type, inputUrl: url, number: at + 1, resources: Number(resources), failed: Number(failed) }
  })
  return {
    transactionTime: new Date(Number(created)).toISOString(),
    request,
    requiresAccessToken: true,
    output: files.map(({ type, inputUrl, resources }) => ({ type, inputUrl, count: resources })),
    error: files
      .filter(({ failed }) => failed > 0)
      .map(({ inputUrl, number, failed }) => ({
        type: 'OperationOutcome',
        inputUrl,
        url: `${baseUrl}/import/${id}/errors?input=${number}`,
        count: failed,
      })),
  }
}
