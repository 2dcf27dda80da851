/** The row of a SearchParameter that a client has written. */
import type { AppliedChange } from '../../storage/service.ts'
import { ACTIVE, type ClientParameterRow, toDefinition } from '../definition/client-parameters.ts'

type Resource = Readonly<Record<string, unknown>>

/** Undefined for a SearchParameter that is neither active nor retired: it has no row. */
export const statusOf = (resource: Resource | undefined): ClientParameterRow['status'] | undefined =>
  ACTIVE.find((status) => status === resource?.status)

export const rowOf = ({ version: { rid, id } }: AppliedChange, resource: Resource): ClientParameterRow => ({
  rid,
  id,
  url: String(resource.url),
  status: statusOf(resource) as ClientParameterRow['status'],
  body: JSON.stringify(toDefinition(resource)),
})
