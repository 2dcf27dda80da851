/**
 * Refuses a Binary whose securityContext does not refer to a resource. Access to the Binary is decided by that
 * resource, so an identifier, a contained resource or a URN would protect nothing.
 */

import { readLiteral } from '../model/service.ts'
import type { WriteCheck } from '../storage/service.ts'
import { SecurityContextUnusable } from './errors.ts'

export const securityContextCheck: WriteCheck = {
  name: 'security context',
  type: 'Binary',
  checkContent({ resource: { securityContext } }) {
    if (securityContext === undefined) return
    const { reference } = (securityContext ?? {}) as { readonly reference?: unknown }
    if (typeof reference === 'string' && readLiteral(reference) !== undefined) return
    throw SecurityContextUnusable().with({ expression: ['Binary.securityContext'] })
  },
}
