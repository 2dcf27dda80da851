/** The addresses of the FHIR interface. https://hl7.org/fhir/R4/http.html#summary */
import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { readBody } from './body.ts'
import { type CapabilityPart, toCapabilityStatement } from './capability.ts'
import { BodyType, MethodNotAllowed } from './errors.ts'
import { create } from './interactions/create.ts'
import { remove } from './interactions/delete.ts'
import { history } from './interactions/history.ts'
import { read, vread } from './interactions/read.ts'
import { search } from './interactions/search.ts'
import { update } from './interactions/update.ts'
import { checkAccept, checkContentType, FHIR_JSON } from './media.ts'
import { readPrefer, readQuery } from './query.ts'
import { SearchFormType } from './search/errors.ts'
import type { FhirServer } from './server.ts'

type Handler = (server: FhirServer, request: FastifyRequest<any>, reply: FastifyReply) => unknown

export interface RouteParts {
  /** The server once it has started; requests before that are answered by the kernel. */
  readonly server: () => FhirServer
  readonly bodyBytes: number
  readonly updateAsCreate: boolean
  readonly parts: readonly CapabilityPart[]
}

const metadata =
  ({ updateAsCreate, parts }: RouteParts): Handler =>
  (server, request, reply) => {
    const { presentation } = readQuery(request.raw.url ?? '', ['mode'], readPrefer(request.headers.prefer).lenient)
    checkAccept(request.headers.accept, presentation.format)
    const statement = toCapabilityStatement(server, request.ctx, { updateAsCreate, parts })
    return reply
      .header('content-type', FHIR_JSON)
      .send(JSON.stringify(statement, null, presentation.pretty ? 2 : undefined))
  }

/** Every address with what it takes; any other method there is 405 with Allow. */
const tableOf = (
  parts: RouteParts,
): readonly (readonly [string, Partial<Record<'GET' | 'POST' | 'PUT' | 'DELETE', Handler>>])[] => [
  ['/metadata', { GET: metadata(parts) }],
  ['/', { GET: search }],
  ['/_search', { POST: search }],
  ['/_history', { GET: history }],
  ['/:type', { GET: search, POST: create }],
  ['/:type/_search', { POST: search }],
  ['/:type/_history', { GET: history }],
  ['/:type/:id', { GET: read, PUT: update, DELETE: remove }],
  ['/:type/:id/_history', { GET: history }],
  ['/:type/:id/_history/:version', { GET: vread }],
  ['/:type/:id/:other', { GET: search }],
]

const checkForm = (type: string): void => {
  if (!/^application\/x-www-form-urlencoded\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i.test(type))
    throw SearchFormType(type.slice(0, 100))
}

const takeBodies = (app: FastifyInstance, bodyBytes: number): void => {
  app.removeAllContentTypeParsers()
  // One parser for whatever comes, so that a refusal is ours and comes before the body is read.
  app.addContentTypeParser('*', (request, payload, done) => {
    const type = request.headers['content-type']
    try {
      if (type === undefined) throw BodyType('none')
      if (request.routeOptions.url?.endsWith('/_search') === true) checkForm(type)
      else checkContentType(type)
    } catch (error) {
      return done(error as Error)
    }
    readBody(request.raw, payload, bodyBytes).then((bytes) => done(null, bytes), done)
  })
}

export const fhirRoutes =
  (parts: RouteParts): FastifyPluginCallback =>
  (app, _options, done) => {
    takeBodies(app, parts.bodyBytes)
    for (const [url, handlers] of tableOf(parts)) {
      const methods = Object.keys(handlers) as (keyof typeof handlers)[]
      for (const method of methods) {
        const handler = handlers[method] as Handler
        app.route({
          method,
          url,
          config: { requestClass: handler === search ? 'search' : method === 'GET' ? 'read' : 'write' },
          handler: (request, reply) => handler(parts.server(), request, reply),
        })
      }
      const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
      const others = app.supportedMethods.filter(
        (one) => !methods.includes(one as never) && !(one === 'HEAD' && 'GET' in handlers),
      )
      app.route({
        method: others as HTTPMethods[],
        url,
        // Refused before the body is looked at.
        onRequest: (request, _reply, next) => next(MethodNotAllowed(request.method).with({ headers: { allow } })),
        handler: () => undefined,
      })
    }
    done()
  }
