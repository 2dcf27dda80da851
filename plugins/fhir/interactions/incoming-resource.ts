/** The resource of a create or update: read, and checked against the address it was sent to. */
import type { ServerError } from '../../../kernel/index.ts'
import {
  isResourceId,
  type ParsedResource,
  parseResource,
  type ResourceTemplate,
  type TypeCatalog,
  toResourceTemplate,
  UnknownType,
} from '../../model/service.ts'
import { IdMalformed, IdMismatch, IdMissing, TypeMismatch, TypeMissing } from '../errors.ts'
import { type LargeBody, UnreadableBody } from '../large/large-bodies.ts'

export interface IncomingResource {
  readonly resource: Record<string, unknown>
  readonly template: ResourceTemplate
  /** Its text; that of a large body is decoded when it is asked for. */
  readonly sent: Pick<ParsedResource, 'text'>
  /** Why a thread that has read it found that it may not be written. */
  readonly refusal?: ServerError | undefined
}

type Types = Pick<TypeCatalog, 'types'>

const checkType = (catalog: Types, resource: Record<string, unknown>, type: string): void => {
  const { resourceType } = resource
  if (typeof resourceType !== 'string') throw TypeMissing(type)
  if (resourceType === type) return
  if (!catalog.types.has(resourceType)) throw UnknownTypeInBody(resourceType)
  throw TypeMismatch(resourceType, type)
}

/** An unknown type in the address is 404; in a body it is the body that is wrong. */
const UnknownTypeInBody = (name: string) => {
  const error = UnknownType(name.slice(0, 64))
  return TypeMismatch(name.slice(0, 64), 'another').with({
    issues: [{ severity: 'error', code: 'structure', diagnostics: error.message }],
  })
}

const checkId = (resource: Record<string, unknown>, id: string): void => {
  if (resource.id === undefined) throw IdMissing(id)
  if (typeof resource.id !== 'string' || !isResourceId(resource.id))
    throw IdMalformed().with({ expression: [`${resource.resourceType}.id`] })
  if (resource.id !== id) throw IdMismatch(resource.id, id)
}

/** Bytes of a request; an entry of a Bundle was read with it, a large body by a thread. Throws 400. */
export const parseBody = (body: unknown): ParsedResource => {
  if (body === undefined || body instanceof Uint8Array) return parseResource(body ?? new Uint8Array())
  if (body instanceof UnreadableBody) throw body.error
  return body as ParsedResource
}

const checkWellFormed = (resource: Record<string, unknown>, type: string): void => {
  if (resource.id !== undefined && (typeof resource.id !== 'string' || !isResourceId(resource.id)))
    throw IdMalformed().with({ expression: [`${type}.id`] })
}

/**
 * `id` is the address of an update, which the resource has to repeat; a create has none, and an id in the body is
 * ignored. `isFound`: a condition found the id, and the resource need not know it.
 */
export const readIncomingResource = (
  catalog: Types,
  body: unknown,
  type: string,
  id?: string,
  isFound = false,
): IncomingResource => {
  const read = parseBody(body)
  checkType(catalog, read.resource, type)
  if (id === undefined || (isFound && read.resource.id === undefined)) checkWellFormed(read.resource, type)
  else checkId(read.resource, id)
  const { refusal, template = toResourceTemplate(read) } = read as Partial<LargeBody>
  return { resource: read.resource, template, sent: read, refusal }
}
