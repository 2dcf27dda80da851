/** Registers the routes of the FHIR REST API with Fastify. https://hl7.org/fhir/R4/http.html#summary */
import type {
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  preParsingHookHandler,
} from 'fastify'
import type { RequestClass } from '../../../kernel/index.ts'
import type { StartedFhir } from '../compose.ts'
import { BodyType, MethodNotAllowed, SearchFormType } from '../errors.ts'
import type { InteractionName } from '../interactions/addresses.ts'
import { ADDRESSES } from '../interactions/addresses.ts'
import type { Answer } from '../interactions/answer.ts'
import type { InteractionRequest, PathParams } from '../interactions/request.ts'
import type { BuiltInInvocation, BuiltInOperation } from '../operations/built-in.ts'
import { isChanging, isPosted } from '../operations/operation.ts'
import type { OperationLevel } from '../operations/operation-parameter.ts'
import type { Operations } from '../operations/registry.ts'
import { ACCEPT_PATCH, formOf } from '../patch/patch.ts'
import { send } from '../response/respond.ts'
import { answerErrorsInXml } from '../xml/answer-errors.ts'
import { xmlFormOf } from '../xml/xml-form.ts'
import { readRequestBody } from './body.ts'
import { FHIR_JSON, isXmlType, readContentType } from './media.ts'
import { rawBinary } from './raw-binary.ts'
import { SNAPSHOT_HEADER } from './snapshot-header.ts'

type Handler = (server: StartedFhir, request: FastifyRequest<any>, reply: FastifyReply) => unknown

export interface RouteParts {
  /** The started server. The kernel answers requests before the start. */
  readonly server: () => StartedFhir
  readonly bodyBytes: number
  /** Has all operations by the time the routes are mounted. */
  readonly operations: Operations<BuiltInInvocation>
}

const metadata: Handler = async ({ capabilities, xml }, request, reply) => {
  const answer = await capabilities(request as InteractionRequest)
  if (xmlFormOf(request) !== undefined) return send(request, reply, answer, xml)
  return reply.header('content-type', FHIR_JSON).header('vary', 'accept').send(answer.text)
}

/** Performs an operation that has routes of its own. Unknown codes match the general route `$:operation`. */
const operate =
  (code: string): Handler =>
  async ({ interactions, view, xml }, request, reply) => {
    const { ctx, headers, method, url, params, body } = request
    const asked: InteractionRequest = {
      ctx,
      headers,
      method,
      url,
      params: { ...(params as PathParams), operation: code },
      body,
    }
    return send(request, reply, await interactions.perform(view, 'operation', asked), xml)
  }

const interact =
  (name: InteractionName): Handler =>
  ({ interactions, view, xml }, request, reply) => {
    const refuse = (error: unknown): void => void reply.send(error)
    const give = (answer: Answer): void => {
      const sent = send(request, reply, answer, xml)
      if (sent instanceof Promise) sent.catch(refuse)
    }
    const answer = interactions.perform(view, name, request as InteractionRequest)
    // Returns nothing: Fastify would wait for a returned reply or promise, which delays the answer.
    if (answer instanceof Promise) answer.then(give).catch(refuse)
    else give(answer)
  }

/** The root as a page of links is what /metadata says; a search of all types would be a page of anything. */
const root: Handler = (server, request, reply) => {
  const isStart = request.ctx.isPresented && !request.url.includes('?')
  return isStart ? metadata(server, request, reply) : interact('search')(server, request, reply)
}

const postBundle: Handler = async ({ bundle, view, xml }, request, reply) =>
  send(request, reply, await bundle(view, request as InteractionRequest), xml)

const classOf = (name: InteractionName, method: string): RequestClass =>
  name === 'search' || name === 'operation' ? name : method === 'GET' ? 'read' : 'write'

const CHANGES: ReadonlySet<InteractionName> = new Set(['create', 'update', 'patch', 'delete'])

/** Interactions whose answer holds any number of resources. */
const LISTS: ReadonlySet<InteractionName> = new Set(['search', 'history', 'operation'])

interface Taken {
  readonly handler: Handler
  readonly requestClass: RequestClass
  /** Sent on by a replica: always, or where the client asks for a newer snapshot than it has. */
  readonly relay: true | typeof SNAPSHOT_HEADER
  /** Not for single resources, which are sent as they are stored, and are stored as gzip from 1.4 kB on. */
  readonly compress: boolean
  /** The handler answers this method with 405, so the header Allow does not list it. */
  readonly isRefused?: boolean
}

const PATH_OF: Readonly<Record<OperationLevel, string>> = { system: '', type: '/:type', instance: '/:type/:id' }

/**
 * Routes for each operation, because operations differ in request class and methods. Operations with the same code
 * share them.
 */
const operationsOf = (all: readonly BuiltInOperation[]): readonly (readonly [string, ReadonlyMap<string, Taken>])[] => {
  const table = new Map<string, Map<string, Taken>>()
  for (const operation of all)
    for (const level of operation.levels) {
      const path = `${PATH_OF[level]}/$${operation.code}`
      const taken = table.get(path) ?? new Map<string, Taken>()
      table.set(path, taken)
      const handler = operate(operation.code)
      const requestClass = operation.requestClass ?? 'operation'
      // A changing operation has a GET handler too, so that an unknown type is answered with 404 and not with 405.
      const isRefused = isPosted(operation) && taken.get('GET')?.isRefused !== false
      const isWriters = operation.isWriters === true
      const changes = isWriters || isChanging(operation) || taken.get('POST')?.relay === true
      const relay = isWriters || taken.get('GET')?.relay === true || SNAPSHOT_HEADER
      taken.set('GET', { handler, requestClass, relay, isRefused, compress: true })
      taken.set('POST', { handler, requestClass, relay: changes || SNAPSHOT_HEADER, compress: true })
    }
  return [...table]
}

/** Every address with its methods. Any other method there is answered with 405 and Allow. */
const tableOf = (parts: RouteParts): readonly (readonly [string, ReadonlyMap<string, Taken>])[] => [
  [
    '/metadata',
    new Map([['GET', { handler: metadata, requestClass: 'read', relay: SNAPSHOT_HEADER, compress: true }]]),
  ],
  ...operationsOf(parts.operations.all),
  ...ADDRESSES.map(({ path, methods }): [string, Map<string, Taken>] => {
    const taken = Object.entries(methods).map(([method, name]): [string, Taken] => [
      method,
      {
        handler: path === '/' ? root : interact(name),
        requestClass: classOf(name, method),
        relay: CHANGES.has(name) || SNAPSHOT_HEADER,
        compress: LISTS.has(name),
      },
    ])
    if (path === '/') taken.push(['POST', { handler: postBundle, requestClass: 'bundle', relay: true, compress: true }])
    return [path, new Map(taken)]
  }),
]

/**
 * Mounts each address with a slash at the end as well, because many clients add one. This is unambiguous: no id is
 * empty.
 */
const withSlash = <T>([path, taken]: readonly [string, T]): readonly (readonly [string, T])[] =>
  path === '/'
    ? [[path, taken]]
    : [
        [path, taken],
        [`${path}/`, taken],
      ]

const FORM = /\/_search\/?$/

const checkForm = (type: string): void => {
  if (!/^application\/x-www-form-urlencoded\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i.test(type))
    throw SearchFormType(type.slice(0, 100))
}

const takeBodies = (app: FastifyInstance, { bodyBytes, server }: RouteParts): void => {
  app.removeAllContentTypeParsers()
  // One parser for all media types, so that this plugin refuses a type, and before the body is read. The usual types
  // are listed by name, because Fastify caches those and parses any other header each time.
  app.addContentTypeParser(['application/fhir+json', 'application/json', '*'], (request, payload, done) => {
    const type = request.headers['content-type']
    const read = (): Promise<Buffer> => readRequestBody(request.raw, payload, bodyBytes)
    const give = (reading: Promise<unknown>): void => void reading.then((body) => done(null, body), done)
    try {
      if (request.method === 'PATCH') formOf(type ?? 'none')
      else if (type === undefined) throw BodyType('none')
      else if (FORM.test(request.routeOptions.url ?? '')) checkForm(type)
      else if (rawBinary.concerns(request)) {
        rawBinary.check(request, type)
        return give(read().then((bytes) => rawBinary.read(request, type, bytes, server().xml)))
      } else if (readContentType(type) === 'json') return give(read())
      if (type !== undefined && isXmlType(type)) give(read().then((bytes) => server().xml.read(request.ctx, bytes)))
      else give(read())
    } catch (error) {
      done(error as Error)
    }
  })
}

/** The router refuses a type that it cannot read, such as an empty one, before the parser above says what it takes. */
const checkPatchType: preParsingHookHandler = ({ headers }, _reply, payload, done) => {
  try {
    if (headers['content-type'] !== undefined) formOf(headers['content-type'].trim() || 'none')
    done(null, payload)
  } catch (error) {
    done(error as Error)
  }
}

export const fhirRoutes =
  (parts: RouteParts): FastifyPluginCallback =>
  (app, _options, done) => {
    takeBodies(app, parts)
    answerErrorsInXml(app, () => parts.server().xml)
    for (const [url, taken] of tableOf(parts).flatMap(withSlash)) {
      for (const [method, { handler, requestClass, relay, compress, isRefused = false }] of taken)
        app.route({
          method: method as HTTPMethods,
          url,
          config: {
            ...{ requestClass, relay, compress, presents: method === 'GET' },
            ...(isRefused && { isRefusal: true }),
          },
          ...(method === 'PATCH' && { preParsing: checkPatchType }),
          handler: (request, reply) => handler(parts.server(), request, reply),
        })
      const withHead = (method: string): readonly string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method])
      const methods = [...taken.keys()].flatMap(withHead)
      const patchable: Record<string, string> = taken.has('PATCH') ? { 'accept-patch': ACCEPT_PATCH } : {}
      const allow = [...taken].flatMap(([method, { isRefused }]) => (isRefused ? [] : withHead(method))).join(', ')
      app.route({
        method: app.supportedMethods.filter((one) => !methods.includes(one)) as HTTPMethods[],
        url,
        config: { isRefusal: true },
        // Refuses the request before its body is read.
        onRequest: (request, _reply, next) =>
          next(MethodNotAllowed(request.method).with({ headers: { allow, ...patchable } })),
        handler: () => undefined,
      })
    }
    done()
  }
