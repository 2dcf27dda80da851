/** The scope of a search: a type, the whole server or a compartment. https://hl7.org/fhir/R4/http.html#search */
import type { Ruling } from '../../../kernel/index.ts'
import { isResourceId, type TypeCatalog, typeOf } from '../../model/service.ts'
import { NotFound } from '../../storage/service.ts'
import { NoCompartment, QueryParameterValue } from '../errors.ts'
import type { Registry } from '../index/registry.ts'
import type { SearchRequest } from './search-parameters.ts'

export interface SearchScope {
  readonly path: string
  /** The searched type; undefined for several. */
  readonly type: string | undefined
  readonly compartment: { readonly type: string; readonly id: string } | undefined
}

/** The parts of an address: `/[type]`, `/[type]/[id]/[other]`. */
export interface SearchAddress {
  readonly type?: string
  readonly id?: string
  /** The searched type inside a compartment, or `*`. */
  readonly other?: string
}

interface Where {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly search: {
    readonly registry: Pick<Registry, 'compartments'>
    /** Names of the types that have resources. */
    usedTypes(): Promise<readonly string[]>
  }
}

/** Throws 404 for an unknown type, compartment or id. */
export const scopeOf = (server: Where, { type, id, other }: SearchAddress): SearchScope => {
  if (type === undefined) return { path: '/', type: undefined, compartment: undefined }
  const { name } = typeOf(server, type)
  if (id === undefined) return { path: `/${name}`, type: name, compartment: undefined }
  if (!isResourceId(id)) throw NotFound(name, id.slice(0, 64))
  const members = server.search.registry.compartments[name]
  if (members === undefined)
    throw NoCompartment(name, Object.keys(server.search.registry.compartments).join(', ') || 'none')
  const path = `/${name}/${id}/${other}`
  if (other === '*') return { path, type: undefined, compartment: { type: name, id } }
  return { path, type: typeOf(server, other as string).name, compartment: { type: name, id } }
}

/**
 * The types to search: that of the address, else those of `_type`. Without either, the types that have resources; for a
 * caller with limited access all types that it may search, because a parameter that a searched type does not define is
 * refused, and the refusal would reveal which types have resources. In a compartment, only types that belong to it. Throws
 * 400 for an empty `_type` and for unknown types.
 */
export const typesOf = async (
  server: Where,
  { type, compartment }: SearchScope,
  request: SearchRequest,
  ruling: Ruling,
): Promise<readonly string[]> => {
  if (type !== undefined) return [type]
  const asked = request.types?.map((one) => typeOf(server, one, false).name)
  if (asked !== undefined && asked.length === 0) throw QueryParameterValue('_type', 'names of types')
  const members = compartment === undefined ? undefined : server.search.registry.compartments[compartment.type]
  const granted = (): readonly string[] =>
    [...server.catalog.types.keys()].filter((one) => ruling.extent(one, 's') !== 'none')
  const used = asked ?? (ruling.covers(['r', 's']) ? await server.search.usedTypes() : granted())
  return members === undefined ? used : used.filter((one) => members[one] !== undefined || one === compartment?.type)
}
