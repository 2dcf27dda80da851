/** The error for a right that a ruling gives on no resource of a type. */
import { extentOf, type Restriction, type Right, type Ruling, type ServerError } from '../../../kernel/index.ts'
import { TypeForbidden } from '../errors.ts'

/**
 * 403 with the headers of the restrictions that exclude the type. A restriction also does so when it grants the right
 * only in a compartment to which the type cannot belong.
 */
export const typeForbidden = (ruling: Ruling, type: string, right: Right): ServerError => {
  const isExtent =
    (...extents: readonly string[]) =>
    (one: Restriction): boolean =>
      extents.includes(extentOf(one, type, right))
  const isClosed = ruling.restrictions.some(isExtent('none'))
  return TypeForbidden(type).with({ headers: ruling.headersWhere(isClosed ? isExtent('none') : isExtent('some')) })
}
