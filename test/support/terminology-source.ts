/** A FHIR server on loopback that has definitions, and gives them in pages. It records its requests, and can be made to fail. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { serve } from './static-server.ts'

type Json = Record<string, unknown>

export interface TerminologySource {
  /** Base URL. */
  readonly url: string
  /** Path and query of each request, without the base, in order. */
  readonly requests: string[]
  /** By type; given in this order, two on each page. */
  readonly definitions: Map<string, Json[]>
  /** Called in front of each answer; true where it has answered itself. */
  intercept: ((path: string, response: ServerResponse) => boolean) | undefined
  /** Replaces links to next pages. */
  link: ((url: string) => string) | undefined
  close(): Promise<void>
}

const PAGE = 2

export const startTerminologySource = async (): Promise<TerminologySource> => {
  const requests: string[] = []
  const definitions = new Map<string, Json[]>()
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const asked = new URL(request.url as string, address)
    const path = `${asked.pathname.replace('/fhir/', '')}${asked.search}`
    requests.push(path)
    if (source.intercept?.(path, response) === true) return
    const type = asked.pathname.split('/').at(-1) as string
    const since = asked.searchParams.get('_lastUpdated')?.replace('gt', '')
    const all = (definitions.get(type) ?? []).filter(
      ({ meta }) => since === undefined || ((meta as Json | undefined)?.lastUpdated as string) > since,
    )
    const from = Number(asked.searchParams.get('from') ?? 0)
    asked.searchParams.set('from', String(from + PAGE))
    const next = source.link?.(asked.href) ?? asked.href
    const bundle = {
      ...{ resourceType: 'Bundle', type: 'searchset', total: all.length },
      link: from + PAGE < all.length ? [{ relation: 'next', url: next }] : [],
      entry: all.slice(from, from + PAGE).map((resource) => ({ resource, search: { mode: 'match' } })),
    }
    response.writeHead(200, { 'content-type': 'application/fhir+json' })
    response.end(JSON.stringify(bundle))
  }
  const { address, close } = await serve(answer)
  const source: TerminologySource = {
    ...{ url: `${address}/fhir`, requests, definitions, close },
    ...{ intercept: undefined, link: undefined },
  }
  return source
}
