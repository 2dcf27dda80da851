/** The OpenAPI document of this server, for commands and hosts. */
import { defineService } from '../../kernel/index.ts'

export interface OpenApi {
  /** While the server runs: the document as JSON. */
  text(): Promise<string>
}

export const OpenApi = defineService<OpenApi>('openapi')
