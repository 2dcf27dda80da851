/** How one resource is shown: throws 400 for elements its type does not have, or passes over them when lenient. */

import type { ResourceType } from '../../model/service.ts'
import type { Presentation } from '../presentation/presentation-parameters.ts'
import { withKnownElements } from '../presentation/requested-elements.ts'

export const presentationOf = (presentation: Presentation, type: ResourceType, lenient: boolean): Presentation =>
  withKnownElements(presentation, [type], type.name, (_name, error) => {
    if (!lenient) throw error
  })
