/** Performs an operation as one interaction. https://hl7.org/fhir/R4/operations.html#executing */
import { type Interaction, indentJson, MethodRefused, type Ruling } from '../../../kernel/index.ts'
import type { ParsedResource, TypeCatalog } from '../../model/service.ts'
import { isResourceId, typeOf } from '../../model/service.ts'
import { NotFound } from '../../storage/service.ts'
import type { Validator } from '../../validation/service.ts'
import { type AuditDetails, detailsOfPage } from '../audit-details.ts'
import { checkOperation } from '../dispatch.ts'
import { checkAccept } from '../http/media.ts'
import type { LargeBodies } from '../large/large-bodies.ts'
import type { BuiltInInvocation, BuiltInOperation } from '../operations/built-in.ts'
import { type ToOperationChange, toOperationChanged } from '../operations/changes.ts'
import { OperationPost, OperationUnknown } from '../operations/errors.ts'
import { readInputs } from '../operations/inputs.ts'
import { isChanging, isPosted, type OperationAnswer } from '../operations/operation.ts'
import type { Operations } from '../operations/registry.ts'
import { readPairs, readPrefer, readQueryParameters } from '../presentation/presentation-parameters.ts'
import { invokedSeat, type Seat } from '../session/seat.ts'
import type { SessionReads } from '../session/session.ts'
import { createShown } from '../session/shown.ts'
import type { View } from '../view.ts'
import type { Answer } from './answer.ts'
import type { AddressedChange } from './change.ts'
import { parseBody } from './incoming-resource.ts'
import { queryOf } from './query-of.ts'
import type { AddressedRead } from './read-interaction.ts'
import { type InteractionRequest, interactionOf, type PathParams } from './request.ts'

export type AddressedOperation =
  | { readonly kind: 'read'; readonly addressed: AddressedRead }
  | { readonly kind: 'change'; readonly addressed: AddressedChange }

export interface AddressOperations {
  /** The operation that an address names. Throws 404, which lists the operations at that address. */
  find(params: PathParams): BuiltInOperation
  /** Reads address, method, and the parameters that choose the form of the answer. Throws 404, 405, 400, 406. */
  address(view: View, request: InteractionRequest): AddressedOperation
}

export interface AddressOperationsParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly operations: Pick<Operations<BuiltInInvocation>, 'find' | 'at'>
  /** Undefined when no plugin validates. */
  readonly validator: Validator | undefined
  readonly large: Pick<LargeBodies, 'concerns' | 'read'>
  readonly audit: Pick<AuditDetails, 'patients'>
  readonly toOperationChange: ToOperationChange
  /** The reads that an invocation may use. */
  readonly readsOf: (seat: Seat) => SessionReads
}

const findOperation = (
  parts: AddressOperationsParts,
  { type, id, operation: code = '' }: PathParams,
): BuiltInOperation => {
  if (type !== undefined) typeOf(parts, type)
  const at = { level: type === undefined ? 'system' : id === undefined ? 'type' : 'instance', type } as const
  const found = parts.operations.find(code, at)
  if (found !== undefined) return found
  const listed = parts.operations.at(at).filter(({ isListed = true }) => isListed)
  const known = listed.map((one) => `$${one.code}`)
  throw OperationUnknown(code.slice(0, 64), known.sort().join(', ') || 'none')
}

/** An empty body means that there are no parameters. */
const bodyOf = (body: unknown): ParsedResource | undefined =>
  body === undefined || body === null || (body instanceof Uint8Array && body.length === 0) ? undefined : parseBody(body)

const toAnswer = ({ status = 200, headers, resource, json }: OperationAnswer, pretty: boolean): Answer => {
  const text = json ?? (resource === undefined ? undefined : JSON.stringify(resource))
  const shared = headers === undefined ? { status } : { status, headers }
  if (text === undefined) return { ...shared, shows: 'nothing' }
  return { ...shared, shows: 'text', text: pretty ? indentJson(text.toString()) : text }
}

const addressOperation = (
  parts: AddressOperationsParts,
  view: View,
  request: InteractionRequest,
): AddressedOperation => {
  const { catalog, validator, large, audit, toOperationChange, readsOf } = parts
  const { ctx, headers, url, params, method } = request
  const { type, id, operation: code } = params
  const operation = findOperation(parts, params)
  if (id !== undefined && !isResourceId(id)) throw NotFound(type as string, id.slice(0, 64))
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST')
    throw MethodRefused(method).with({ headers: { allow: isPosted(operation) ? 'POST' : 'GET, HEAD, POST' } })
  if (isPosted(operation) && method !== 'POST') throw OperationPost(operation.code).with({ headers: { allow: 'POST' } })
  const { lenient } = readPrefer(headers.prefer)
  const pairs = readPairs(queryOf(url))
  const declared = new Set(operation.parameters.map(({ name }) => name))
  const isSteering = ([name]: readonly [string, string]): boolean =>
    (name === '_format' || name === '_pretty') && !declared.has(name)
  const steering = new URLSearchParams(pairs.filter(isSteering) as [string, string][])
  const { presentation } = readQueryParameters(`?${steering}`, [], lenient)
  checkAccept(headers.accept, presentation.format)
  const interaction: Interaction = interactionOf(request, { kind: 'operation', type, id, operation: code })

  const given = createShown(audit, view.run, ctx.ownUrl)
  const details = (here: View) => detailsOfPage(here.run, given.patients, queryOf(url))

  const invocation = async (here: View, ruling: Ruling, body: unknown): Promise<BuiltInInvocation> => {
    checkOperation(ruling, interaction, operation.rights)
    return toInvocation(here, ruling, body)
  }
  const toInvocation = async (here: View, ruling: Ruling, body: unknown): Promise<BuiltInInvocation> => ({
    request: ctx,
    interaction,
    inputs: await readInputs({
      operation,
      isResource: (name) => catalog.types.has(name),
      validator,
      query: pairs.filter((pair) => !isSteering(pair)),
      body: method === 'POST' ? bodyOf(large.concerns(body) ? await large.read(ctx, body) : body) : undefined,
      lenient,
    }),
    data: readsOf(invokedSeat(here, ctx, ruling.restrictions, given.add)),
    view: here,
    ruling,
    shown: given.add,
  })

  if (!isChanging(operation))
    return {
      kind: 'read',
      addressed: {
        interaction,
        async answer(here, ruling) {
          given.clear()
          const answered = await operation.answer(await invocation(here, ruling, request.body))
          const { recordedAs } = answered
          return {
            ...toAnswer(answered, presentation.pretty),
            details: details(here),
            ...(recordedAs && { recordedAs }),
          }
        },
      },
    }
  return {
    kind: 'change',
    addressed: {
      interaction,
      locate: () => ({ id: id ?? '' }),
      async prepare(_guard, _target, body, ruling) {
        const { changes: wanted, answer } = await operation.change(await invocation(view, ruling, body))
        const changes = []
        for (const one of wanted) changes.push(await toOperationChange(view, ctx, ruling, interaction, one))
        return {
          changes,
          answerAll: (changed) => ({
            ...toAnswer(answer(changed.map(toOperationChanged)), presentation.pretty),
            details: details(view),
          }),
        }
      },
    },
  }
}

export const createAddressOperations = (parts: AddressOperationsParts): AddressOperations => ({
  find: (params) => findOperation(parts, params),
  address: (view, request) => addressOperation(parts, view, request),
})
