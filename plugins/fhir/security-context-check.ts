/**
 * A Binary.securityContext that names no resource protects nothing: an identifier alone, a contained resource or a URN
 * cannot be decided on, and is refused before anybody relies on it.
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
