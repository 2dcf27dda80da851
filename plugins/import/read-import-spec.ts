/**
 * Reads and checks the parameters of $import: those of the SMART proposal, as HAPI takes them.
 * https://github.com/smart-on-fhir/bulk-import/blob/master/import-manifest.md
 */
import type { Right, Ruling } from '../../kernel/index.ts'
import type { Inputs, Invocation, OperationParameter } from '../fhir/service.ts'
import { extent, typeForbidden } from '../search/service.ts'
import type { AllowedSources } from './allowed-sources.ts'
import { ImportFormat, ImportMany, ImportStorage, ImportTwice, ImportType } from './errors.ts'
import type { ImportSpec } from './import-spec.ts'

const FORMATS: ReadonlySet<string> = new Set(['application/fhir+ndjson', 'application/ndjson', 'ndjson'])
const STORAGES: ReadonlySet<string> = new Set(['https', 'file'])
const MAX_FILES = 1_000
const BATCH = 50 // resources in one transaction; few, because the main thread prepares a batch in one turn
const SHOWN = 100 // characters of what was sent
const CHANGES: readonly Right[] = ['c', 'u']

export const IMPORT_PARAMETERS: readonly OperationParameter[] = [
  { name: 'inputFormat', type: 'code', documentation: 'application/fhir+ndjson, application/ndjson or ndjson.' },
  { name: 'inputSource', type: 'uri', documentation: 'The system that the files come from; it is not read.' },
  {
    name: 'storageDetail',
    documentation: 'How files are fetched.',
    part: [
      { name: 'type', type: 'code', documentation: 'https or file.' },
      { name: 'maxBatchResourceCount', type: 'string', documentation: 'Most resources in one transaction.' },
      { name: 'credentialHttpBasic', type: 'string', documentation: 'Refused: credentials are not kept.' },
    ],
  },
  {
    name: 'input',
    min: 1,
    max: '*',
    documentation: 'A file.',
    part: [
      { name: 'type', type: 'code', min: 1, documentation: 'The type of all its resources.' },
      { name: 'url', type: 'uri', min: 1, documentation: 'Where it is.' },
    ],
  },
]

const readBatch = (detail: Inputs | undefined): number => {
  if (detail === undefined) return BATCH
  const type = detail.get<string>('type')
  if (type !== undefined && !STORAGES.has(type))
    throw ImportStorage('type', `"${type.slice(0, SHOWN)}" is neither https nor file`)
  if (detail.get('credentialHttpBasic') !== undefined)
    throw ImportStorage('credentialHttpBasic', 'credentials are not kept; use URLs that carry their own right')
  const text = detail.get<string>('maxBatchResourceCount')
  if (text === undefined) return BATCH
  const most = Number(text)
  if (!/^\d{1,9}$/.test(text) || most === 0) throw ImportStorage('maxBatchResourceCount', 'it is no positive number')
  return Math.min(BATCH, most)
}

/** Refuses types that are not granted at all. Grants that depend on data are applied to each resource later. */
const checkRights = (ruling: Ruling, type: string): void => {
  // Access to the entries of a Bundle is checked for each entry.
  if (type !== 'Bundle' && CHANGES.every((right) => extent(ruling, type, right) === 'none'))
    throw typeForbidden(ruling, type, 'c')
}

/** Throws 400 and 403. */
export const readImportSpec = (
  { request, inputs, ruling }: Invocation,
  allowed: AllowedSources,
  isType: (name: string) => boolean,
): ImportSpec => {
  const format = inputs.get<string>('inputFormat')
  if (format !== undefined && !FORMATS.has(format)) throw ImportFormat(format.slice(0, SHOWN))
  const batch = readBatch(inputs.get<Inputs>('storageDetail'))
  const given = inputs.all<Inputs>('input')
  if (given.length > MAX_FILES) throw ImportMany(MAX_FILES)
  const seen = new Set<string>()
  const found = given.map((one) => {
    const type = one.get<string>('type') as string
    const url = one.get<string>('url') as string
    if (!isType(type)) throw ImportType(type.slice(0, SHOWN))
    checkRights(ruling, type)
    allowed.find(url)
    if (seen.has(url)) throw ImportTwice(url.slice(0, SHOWN))
    seen.add(url)
    return { type, url }
  })
  return { request: `${request.baseUrl}${request.url}`, baseUrl: request.baseUrl, inputs: found, batch }
}
