/** The refusal of a type on which a ruling leaves a right to nothing. */
import { extentOf, type Restriction, type Right, type Ruling, type ServerError } from '../../../kernel/index.ts'
import { TypeForbidden } from '../errors.ts'

/**
 * 403 with the headers of the restrictions that close the type. One that grants the right in a compartment only, in which
 * the type never lies, closes it too.
 */
export const typeForbidden = (ruling: Ruling, type: string, right: Right): ServerError => {
  const isExtent =
    (...extents: readonly string[]) =>
    (one: Restriction): boolean =>
      extents.includes(extentOf(one, type, right))
  const isClosed = ruling.restrictions.some(isExtent('none'))
  return TypeForbidden(type).with({ headers: ruling.headersWhere(isClosed ? isExtent('none') : isExtent('some')) })
}
