/** The resource type that an address names. */
import { NoSuchRoute } from '../../kernel/index.ts'
import type { ResourceType, TypeCatalog } from './catalog.ts'
import { UnknownType } from './errors.ts'

// What cannot be a type in any package is an address like any other.
const TYPE_NAME = /^[A-Za-z]{1,64}$/

/** The type addressed, or named by a value where `isAddress` is false. Throws 404 for one that no package brought. */
export const typeOf = (
  { catalog }: { readonly catalog: Pick<TypeCatalog, 'types'> },
  name = '',
  isAddress = true,
): ResourceType => {
  const type = catalog.types.get(name)
  if (type === undefined) throw !isAddress || TYPE_NAME.test(name) ? UnknownType(name.slice(0, 64)) : NoSuchRoute()
  return type
}
