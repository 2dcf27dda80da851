/** The service `Resources`: other plugins read and change data on behalf of a caller, by the same code as HTTP. */
import { defineService } from '../../../kernel/index.ts'
import type { Session, Who } from './session.ts'

export interface Resources {
  /**
   * Opens a session for the caller of a request, for a stored caller with its restrictions, or for the server itself.
   * It may be opened before the start, but its calls throw 503 until the server has started. Throws 500 for any other
   * `who`.
   */
  as(who: Who): Session
}

export const Resources = defineService<Resources>('fhir.resources')
