/** A searchset, put together from stored bytes: what was stored is what is sent. https://hl7.org/fhir/R4/bundle.html#searchset */
import type { Issue } from '../../../kernel/index.ts'
import type { ResourceType } from '../catalog.ts'
import { containedText, needsWork, present } from '../present.ts'
import type { Presentation } from '../query.ts'
import type { StoredVersion } from '../store/version.ts'

export interface SearchEntry {
  readonly version: StoredVersion
  readonly mode: 'match' | 'include'
  /** Place in `contained`, when that resource is what is shown. */
  readonly contained?: number | undefined
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

const tail = (mode: string): Buffer => Buffer.from(`,"search":{"mode":"${mode}"}}`)
const MATCH = tail('match')
const INCLUDE = tail('include')
const COMMA = Buffer.from(',')

export const toSearchSet = (set: SearchSet): Buffer => {
  const { id, lastUpdated, baseUrl, total, links, entries, issues, presentation, types } = set
  const parts: Buffer[] = [
    Buffer.from(
      `{"resourceType":"Bundle","id":${JSON.stringify(id)},"meta":{"lastUpdated":"${lastUpdated}"},"type":"searchset"` +
        `${total === undefined ? '' : `,"total":${total}`},"link":${JSON.stringify(links)}`,
    ),
  ]
  const worked = needsWork(presentation)
  const open = Buffer.from(',"entry":[')
  let first = true
  const separate = (): void => {
    parts.push(first ? open : COMMA)
    first = false
  }
  for (const { version, mode, contained } of entries) {
    const { type, id: resourceId } = version
    if (contained !== undefined) {
      const inner = containedText(version.plain.toString('utf8'), contained)
      const inside = types.get(inner.type)
      separate()
      parts.push(
        Buffer.from(`{"fullUrl":${JSON.stringify(`${baseUrl}/${type}/${resourceId}#${inner.id}`)},"resource":`),
        Buffer.from(worked && inside !== undefined ? present(inner.text, inside, presentation) : inner.text),
        MATCH,
      )
      continue
    }
    const described = types.get(type)
    separate()
    parts.push(
      Buffer.from(`{"fullUrl":${JSON.stringify(`${baseUrl}/${type}/${resourceId}`)},"resource":`),
      worked && described !== undefined
        ? Buffer.from(present(version.plain.toString('utf8'), described, presentation))
        : version.plain,
      mode === 'match' ? MATCH : INCLUDE,
    )
  }
  if (issues.length > 0) {
    separate()
    const outcome = { resourceType: 'OperationOutcome', issue: issues }
    parts.push(Buffer.from(`{"resource":${JSON.stringify(outcome)}`), tail('outcome'))
  }
  parts.push(Buffer.from(first ? '}' : ']}'))
  return Buffer.concat(parts)
}
