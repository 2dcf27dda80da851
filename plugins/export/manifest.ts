/** The answer to a finished export. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#response---complete-status */
import type { JobRow } from '../jobs/service.ts'
import type { ExportSpec } from './export-spec.ts'
import type { PartRow, Section } from './tables.ts'

const TYPE_OF: Readonly<Partial<Record<Section, string>>> = { deleted: 'Bundle', error: 'OperationOutcome' }

export const toExportManifest = (
  { id, upto, spec }: Pick<JobRow, 'id' | 'upto' | 'spec'>,
  parts: readonly PartRow[],
  baseUrl: string,
): object => {
  const { request, since } = JSON.parse(spec) as ExportSpec
  const listed = (section: Section): readonly object[] =>
    parts
      .filter((row) => row.section === section && row.file !== '')
      .map(({ part, type, lines }) => ({
        type: TYPE_OF[section] ?? type,
        url: `${baseUrl}/export/${id}/file?part=${part}`,
        count: Number(lines),
      }))
  return {
    // The whole of this millisecond is in the export: the next one asks for what came after it.
    transactionTime: new Date(Math.floor(Number(upto) / 1000)).toISOString(),
    request,
    requiresAccessToken: true,
    output: listed('output'),
    ...(since !== undefined && { deleted: listed('deleted') }),
    error: listed('error'),
  }
}
