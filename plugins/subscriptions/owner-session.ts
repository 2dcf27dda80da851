/** The session of a Subscription: it reads with the rights of the request, and the audit trail names the caller of that. */
import type { Caller, Restriction } from '../../kernel/index.ts'
import type { Resources, Session } from '../fhir/service.ts'
import { PURPOSE } from './own-request.ts'
import type { StateRow } from './tables.ts'

export type OwnerSession = (of: Pick<StateRow, 'caller' | 'restrictions'>) => Session

export const createOwnerSession =
  (resources: Resources, baseUrl: () => string): OwnerSession =>
  ({ caller, restrictions }) =>
    resources.as({
      kind: 'stored',
      caller: JSON.parse(caller) as Caller,
      restrictions: JSON.parse(restrictions) as Restriction[],
      purpose: PURPOSE,
      baseUrl: baseUrl(),
    })
