/** Looks up the resource type that a request names. */
import { NoSuchRoute } from '../../kernel/index.ts'
import type { ResourceType, TypeCatalog } from './catalog.ts'
import { UnknownType } from './errors.ts'

// A path segment that cannot be a type name in any package gets the same 404 as an address that no route serves.
const TYPE_NAME = /^[A-Za-z]{1,64}$/

/**
 * `isAddress`: the name is a segment of the URL; false if it is the value of a parameter or an element. Throws 404 when no
 * installed package defines the type.
 */
export const typeOf = (
  { catalog }: { readonly catalog: Pick<TypeCatalog, 'types'> },
  name = '',
  isAddress = true,
): ResourceType => {
  const type = catalog.types.get(name)
  if (type === undefined) throw !isAddress || TYPE_NAME.test(name) ? UnknownType(name.slice(0, 64)) : NoSuchRoute()
  return type
}
