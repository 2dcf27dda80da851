/** The resource of a create or update: parsed, and compared with the address that it was sent to. */
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
  /** The text of the resource. For a large body it is decoded at the first use. */
  readonly sent: Pick<ParsedResource, 'text'>
  /** Why the thread that has read the body refuses it. */
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

/** An unknown type in a body is an error of the body, and not 404 as in an address. */
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

/** Parses the bytes of a request. Entries of a Bundle and large bodies come here already parsed. Throws 400. */
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
 * `id` is the id in the address of an update, and the resource must have the same. A create has no `id`; an id in its
 * body is ignored. `isFound`: a condition has found the id, so the resource may leave it out.
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
