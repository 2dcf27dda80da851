/** Refuses to store a resource under the id of a definition, as a conditional update whose body has such an id would. */
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
