/** The URL of a resource, for links. */
import type { RequestContext } from '../../../kernel/index.ts'

export const urlOf = (request: RequestContext, type: string, id: string): string => `${request.baseUrl}/${type}/${id}`
