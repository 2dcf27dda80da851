/** A searchset, put together from stored bytes: what was stored is what is sent. https://hl7.org/fhir/R4/bundle.html#searchset */
import type { Issue } from '../../../kernel/index.ts'
import type { ResourceType } from '../catalog.ts'
import { needsWork, present } from '../present.ts'
import type { Presentation } from '../query.ts'
import type { StoredVersion } from '../store/version.ts'

export interface SearchEntry {
  readonly version: StoredVersion
  readonly mode: 'match' | 'include'
}

export interface SearchSet {
  readonly id: string
  readonly lastUpdated: string
  readonly baseUrl: string
  readonly total: number | undefined
  readonly links: readonly { readonly relation: string; readonly url: string }[]
  readonly entries: readonly SearchEntry[]
  readonly issues: readonly Issue[]
  readonly presentation: Presentation
  readonly types: ReadonlyMap<string, ResourceType>
}

const MATCH = ',"search":{"mode":"match"}}'
const INCLUDE = ',"search":{"mode":"include"}}'
const OUTCOME = ',"search":{"mode":"outcome"}}'

export const toSearchSet = (set: SearchSet): string => {
  const { id, lastUpdated, baseUrl, total, links, entries, issues, presentation, types } = set
  let text =
    `{"resourceType":"Bundle","id":${JSON.stringify(id)},"meta":{"lastUpdated":"${lastUpdated}"},"type":"searchset"` +
    `${total === undefined ? '' : `,"total":${total}`},"link":${JSON.stringify(links)}`
  const worked = needsWork(presentation)
  let separator = ',"entry":['
  for (const { version, mode } of entries) {
    const { type, id: resourceId } = version
    const described = types.get(type)
    const resource = worked && described !== undefined ? present(version.text, described, presentation) : version.text
    text += `${separator}{"fullUrl":${JSON.stringify(`${baseUrl}/${type}/${resourceId}`)},"resource":${resource}${mode === 'match' ? MATCH : INCLUDE}`
    separator = ','
  }
  if (issues.length > 0) {
    const outcome = { resourceType: 'OperationOutcome', issue: issues }
    text += `${separator}{"resource":${JSON.stringify(outcome)}${OUTCOME}`
    separator = ','
  }
  return text + (separator === ',' ? ']}' : '}')
}
