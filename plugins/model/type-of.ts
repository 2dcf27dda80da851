/** The resource type that an address names. */
import { NoSuchRoute } from '../../kernel/index.ts'
import type { Catalog, ResourceType } from './catalog.ts'
import { UnknownType } from './errors.ts'

// What cannot be a type in any package is an address like any other.
const TYPE_NAME = /^[A-Za-z]{1,64}$/

/** The type addressed. Throws 404 for one that no package brought. */
export const typeOf = ({ catalog }: { readonly catalog: Pick<Catalog, 'types'> }, name = ''): ResourceType => {
  const type = catalog.types.get(name)
  if (type === undefined) throw TYPE_NAME.test(name) ? UnknownType(name) : NoSuchRoute()
  return type
}
