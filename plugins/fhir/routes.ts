/** The addresses of the FHIR interface. https://hl7.org/fhir/R4/http.html#summary */
import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { RequestClass } from '../../kernel/index.ts'
import { readBody } from './body.ts'
import { type CapabilityPart, toCapabilityStatement } from './capability.ts'
import { BodyType, MethodNotAllowed } from './errors.ts'
import { ADDRESSES } from './interactions/addresses.ts'
import type { Asked } from './interactions/asked.ts'
import { bundle } from './interactions/bundle.ts'
import { type InteractionName, perform } from './interactions/perform.ts'
import { checkAccept, checkContentType, FHIR_JSON } from './media.ts'
import { readPrefer, readQuery } from './query.ts'
import { send } from './respond.ts'
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

const interact =
  (name: InteractionName): Handler =>
  (server, request, reply) => {
    const answer = perform(server, name, request as Asked)
    if (answer instanceof Promise) return answer.then((one) => send(request, reply, one))
    // Not returned: Fastify takes a reply for a promise to wait for.
    send(request, reply, answer)
  }

const postBundle: Handler = async (server, request, reply) =>
  send(request, reply, await bundle(server, request as Asked))

const classOf = (name: InteractionName, method: string): RequestClass =>
  name === 'search' ? 'search' : method === 'GET' ? 'read' : 'write'

interface Taken {
  readonly handler: Handler
  readonly requestClass: RequestClass
}

/** Every address with what it takes; any other method there is 405 with Allow. */
const tableOf = (parts: RouteParts): readonly (readonly [string, ReadonlyMap<string, Taken>])[] => [
  ['/metadata', new Map([['GET', { handler: metadata(parts), requestClass: 'read' }]])],
  ...ADDRESSES.map(({ path, methods }): [string, Map<string, Taken>] => {
    const taken = Object.entries(methods).map(([method, name]): [string, Taken] => [
      method,
      { handler: interact(name), requestClass: classOf(name, method) },
    ])
    if (path === '/') taken.push(['POST', { handler: postBundle, requestClass: 'bundle' }])
    return [path, new Map(taken)]
  }),
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
    for (const [url, taken] of tableOf(parts)) {
      for (const [method, { handler, requestClass }] of taken)
        app.route({
          method: method as HTTPMethods,
          url,
          config: { requestClass },
          handler: (request, reply) => handler(parts.server(), request, reply),
        })
      const methods = [...taken.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      const allow = methods.join(', ')
      app.route({
        method: app.supportedMethods.filter((one) => !methods.includes(one)) as HTTPMethods[],
        url,
        // Refused before the body is looked at.
        onRequest: (request, _reply, next) => next(MethodNotAllowed(request.method).with({ headers: { allow } })),
        handler: () => undefined,
      })
    }
    done()
  }
