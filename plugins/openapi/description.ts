/**
 * Makes the document when it is first asked for, and again when search parameters have changed. It holds the base URL of
 * its request, so one is kept for each of the last few.
 */
import { LRUCache } from 'lru-cache'
import type { ListedRoute, RequestContext } from '../../kernel/index.ts'
import type { Fhir } from '../fhir/service.ts'
import type { CapabilityStatement } from './capability-statement.ts'
import { toDocument } from './document.ts'

export type Describe = (request: RequestContext) => Promise<string>

export interface DescriptionParts {
  readonly fhir: Pick<Fhir, 'outline'>
  readonly listRoutes: () => Promise<readonly ListedRoute[]>
}

interface Made {
  readonly meaning: object
  readonly text: Promise<string>
}

/** Names that clients use for one server; each document has about a megabyte. */
const KEPT = 4

export const createDescription = ({ fhir, listRoutes }: DescriptionParts): Describe => {
  const kept = new LRUCache<string, Made>({ max: KEPT })
  const make = async (request: RequestContext): Promise<string> => {
    const { capabilities, operations, resultParameters } = fhir.outline
    const statement = JSON.parse(await capabilities(request)) as CapabilityStatement
    const routes = await listRoutes()
    return JSON.stringify(toDocument({ statement, operations, resultParameters, routes, baseUrl: request.baseUrl }))
  }
  return (request) => {
    const { searchMeaning: meaning } = fhir.outline
    const found = kept.get(request.baseUrl)
    if (found?.meaning === meaning) return found.text
    const text = make(request)
    kept.set(request.baseUrl, { meaning, text })
    text.catch(() => kept.delete(request.baseUrl))
    return text
  }
}
