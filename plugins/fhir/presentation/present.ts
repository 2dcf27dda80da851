/**
 * Puts a resource into another form than stored: `_summary`, `_elements`, `_pretty`. Numbers keep their digits.
 * https://hl7.org/fhir/R4/search.html#summary
 */
import { indentJson } from '../../../kernel/index.ts'
import type { ResourceType } from '../../model/service.ts'
import { parseExact } from '../../model/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { Presentation } from './presentation-parameters.ts'

const ALWAYS = new Set(['resourceType', 'id', 'meta'])
const SUBSETTED = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue',
  code: 'SUBSETTED',
  display: 'Resource encoded in summary mode',
}

/** The element that a JSON member belongs to: `_birthDate` to birthDate, valueQuantity to value. */
export const elementOf = (member: string, type: ResourceType): string => {
  const name = member.startsWith('_') ? member.slice(1) : member
  return type.choices.find((choice) => name.startsWith(choice) && /^[A-Z]/.test(name.slice(choice.length))) ?? name
}

/** The top-level elements that are shown; undefined when all are. */
const keptElements = (type: ResourceType, { summary, elements }: Presentation): ReadonlySet<string> | undefined => {
  if (elements !== undefined) {
    const named = elements
      .map((one) => (one.startsWith(`${type.name}.`) ? one.slice(type.name.length + 1) : one))
      .map((one) => elementOf(one.split('.')[0] as string, type))
    return new Set([...named, ...type.mandatory])
  }
  if (summary === 'true') return new Set([...type.summary, ...type.mandatory])
  if (summary === 'text') return new Set(['text', ...type.mandatory])
  return undefined
}

const subset = (
  resource: Record<string, unknown>,
  type: ResourceType,
  presentation: Presentation,
): Record<string, unknown> => {
  const kept = keptElements(type, presentation)
  const out: Record<string, unknown> = {}
  for (const [member, value] of Object.entries(resource)) {
    const element = elementOf(member, type)
    const stays = kept === undefined ? !(presentation.summary === 'data' && element === 'text') : kept.has(element)
    if (stays || ALWAYS.has(member)) out[member] = value
  }
  const meta = (out.meta ?? {}) as { tag?: unknown[] }
  out.meta = { ...meta, tag: [...(meta.tag ?? []), SUBSETTED] }
  return out
}

/** True when the requested form differs from the stored bytes. */
export const isTransformed = ({ pretty, summary, elements }: Presentation): boolean =>
  pretty || summary !== undefined || elements !== undefined

/** The JSON to send. `_summary=count` applies to searches; for a single resource it means `true`. */
export const present = (text: string, type: ResourceType, presentation: Presentation): string => {
  const { summary, elements, pretty } = presentation
  if (pretty && summary === undefined && elements === undefined) return indentJson(text)
  const resource = parseExact(text) as Record<string, unknown>
  const wanted: Presentation = summary === 'count' ? { ...presentation, summary: 'true' } : presentation
  const shown = summary === undefined && elements === undefined ? resource : subset(resource, type, wanted)
  return JSON.stringify(shown, null, pretty ? 2 : undefined)
}

/** The JSON of a version in the requested form. A large version was put into that form before, by a thread. */
export const presentVersion = (version: StoredVersion, type: ResourceType, presentation: Presentation): string =>
  version.presented(presentation) ?? present(version.text, type, presentation)

/** A contained resource as JSON of its own. `at` is its index in `contained`. */
export const containedText = (
  text: string,
  at: number,
): { readonly type: string; readonly id: string; readonly text: string } => {
  const { contained } = parseExact(text) as { contained: readonly { resourceType: string; id: string }[] }
  const one = contained[at] as { resourceType: string; id: string }
  return { type: one.resourceType, id: one.id, text: JSON.stringify(one) }
}
