/**
 * The form in which a resource of one type is shown. A name in `_elements` that the type does not have throws 400; when
 * lenient, it is left out.
 */

import type { ResourceType } from '../../model/service.ts'
import type { Presentation } from '../presentation/presentation-parameters.ts'
import { withKnownElements } from '../presentation/requested-elements.ts'

export const presentationOf = (presentation: Presentation, type: ResourceType, lenient: boolean): Presentation =>
  withKnownElements(presentation, [type], type.name, (_name, error) => {
    if (!lenient) throw error
  })
