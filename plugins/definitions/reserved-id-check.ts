/**
 * Refuses to store a resource under the id of a definition of a package. A conditional update, for example, would store it there if
 * its body has such an id.
 */
import type { BesideResources, WriteCheck } from '../fhir/service.ts'

export const reservedIdCheck = ({
  isReserved,
  refuse,
}: Pick<BesideResources, 'isReserved' | 'refuse'>): WriteCheck => ({
  name: 'ids of definitions',
  checkInTransaction: (_request, _transaction, changes) =>
    changes
      .filter(({ version: { type, id }, written }) => written && isReserved(type, id))
      .map(({ interaction, version: { type, id } }) => ({ interaction, error: refuse(type, id) })),
})
