/** The data for other plugins: read and changed for somebody, by the interactions of HTTP. */
import { defineService } from '../../../kernel/index.ts'
import type { Session, Who } from './session.ts'

export interface Resources {
  /**
   * A session for a request, a caller that was ruled on before, or the server itself. At any time; its calls need a server
   * that has started, else they are 503. Throws 500 for who is none of these.
   */
  as(who: Who): Session
}

export const Resources = defineService<Resources>('fhir.resources')
