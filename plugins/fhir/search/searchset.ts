/**
 * Builds a searchset from stored bytes, without parsing the resources. https://hl7.org/fhir/R4/bundle.html#searchset
 */
import type { Issue } from '../../../kernel/index.ts'
import type { ResourceType } from '../../model/service.ts'
import type { SearchEntry } from '../../search/service.ts'
import { containedText, isTransformed, present, presentVersion } from '../presentation/present.ts'
import type { Presentation } from '../presentation/presentation-parameters.ts'
import { type BundleLink, toLinkList } from '../response/bundle-links.ts'

export interface Searchset {
  readonly id: string
  readonly lastUpdated: string
  readonly baseUrl: string
  readonly total: number | undefined
  readonly links: readonly BundleLink[]
  readonly entries: readonly SearchEntry[]
  readonly issues: readonly Issue[]
  readonly presentation: Presentation
  readonly types: ReadonlyMap<string, ResourceType>
}

const MATCH = ',"search":{"mode":"match"}}'
const INCLUDE = ',"search":{"mode":"include"}}'
const OUTCOME = ',"search":{"mode":"outcome"}}'

export type SearchsetOpening = Pick<Searchset, 'id' | 'lastUpdated'>
export type SearchsetLinks = Pick<Searchset, 'total' | 'links'>

/** The beginning of a searchset, in ASCII; `searchsetLinks` and `searchsetTail` make the rest. */
export const searchsetOpening = ({ id, lastUpdated }: SearchsetOpening): string =>
  `{"resourceType":"Bundle","id":${JSON.stringify(id)},"meta":{"lastUpdated":"${lastUpdated}"},"type":"searchset"`

export const searchsetLinks = ({ total, links }: SearchsetLinks): string =>
  `${total === undefined ? '' : `,"total":${total}`},"link":${toLinkList(links)}`

/** The entries of a searchset, and its end. */
export const searchsetTail = (set: Omit<Searchset, keyof SearchsetOpening | keyof SearchsetLinks>): string => {
  const { baseUrl, entries, issues, presentation, types } = set
  let text = ''
  const worked = isTransformed(presentation)
  let separator = ',"entry":['
  const base = JSON.stringify(baseUrl).slice(0, -1)
  /** `path` needs no escaping in JSON, because types and ids have no special characters. */
  const add = (path: string, resource: string, end: string): void => {
    text += `${separator}{"fullUrl":${base}/${path}","resource":${resource}${end}`
    separator = ','
  }
  for (const { version, mode, contained } of entries) {
    const { type, id: resourceId } = version
    const path = `${type}/${resourceId}`
    if (contained !== undefined) {
      const inner = containedText(version.text, contained)
      const inside = types.get(inner.type)
      const shown = worked && inside !== undefined ? present(inner.text, inside, presentation) : inner.text
      add(`${path}#${JSON.stringify(inner.id).slice(1, -1)}`, shown, MATCH)
      continue
    }
    const described = types.get(type)
    const resource = worked && described !== undefined ? presentVersion(version, described, presentation) : version.text
    add(path, resource, mode === 'match' ? MATCH : INCLUDE)
  }
  if (issues.length > 0) {
    const outcome = { resourceType: 'OperationOutcome', issue: issues }
    text += `${separator}{"resource":${JSON.stringify(outcome)}${OUTCOME}`
    separator = ','
  }
  return text + (separator === ',' ? ']}' : '}')
}

export const toSearchset = (set: Searchset): string => searchsetOpening(set) + searchsetLinks(set) + searchsetTail(set)
