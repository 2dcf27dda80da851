/** Reports names in `_elements` that no type has. https://hl7.org/fhir/R4/search.html#elements */
import type { ResourceType } from '../../model/service.ts'
import { ElementUnknown } from '../errors.ts'
import { elementOf } from './present.ts'
import type { Presentation } from './presentation-parameters.ts'

const isKnown = (types: readonly ResourceType[], name: string): boolean => {
  const [first = '', second] = name.split('.')
  const own = types.find((type) => type.name === first)
  const element = own === undefined ? first : second
  if (element === undefined) return false
  return (own === undefined ? types : [own]).some(
    (type) => element === 'resourceType' || type.elements.includes(elementOf(element, type)),
  )
}

const known = (types: readonly ResourceType[]): string =>
  [...new Set(types.flatMap(({ elements }) => elements))].sort().join(', ')

/**
 * The presentation without unknown names in `_elements`. Calls `tolerate` for each unknown name; it throws the error or
 * ignores the name. A name is known when one of `types` has it, alone or as `Type.element`.
 */
export const withKnownElements = (
  presentation: Presentation,
  types: readonly ResourceType[],
  where: string,
  tolerate: (name: string, error: ReturnType<typeof ElementUnknown>) => void,
): Presentation => {
  const { elements } = presentation
  if (elements === undefined) return presentation
  const kept = elements.filter((name) => {
    if (isKnown(types, name)) return true
    tolerate(
      name,
      ElementUnknown(name.slice(0, 64), where, types.length === 1 ? known(types) : 'the elements of these types'),
    )
    return false
  })
  return kept.length === elements.length
    ? presentation
    : { ...presentation, elements: kept.length === 0 ? undefined : kept }
}
