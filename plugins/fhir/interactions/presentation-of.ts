/** How one resource is shown: throws 400 for elements its type does not have, or passes over them when lenient. */
import { withKnownElements } from '../asked-elements.ts'
import type { ResourceType } from '../catalog.ts'
import type { Presentation } from '../query.ts'

export const presentationOf = (presentation: Presentation, type: ResourceType, lenient: boolean): Presentation =>
  withKnownElements(presentation, [type], type.name, (_name, error) => {
    if (!lenient) throw error
  })
