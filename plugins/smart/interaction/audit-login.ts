/** Records a step that a person took in the browser in the audit trail. */
import type { FactDetails, Host, RequestContext } from '../../../kernel/index.ts'
import type { Person } from '../people/person.ts'

export interface LoginFact {
  /** `login`, `logout`, `consent`, `denial`. */
  readonly operation: string
  /** Undefined for a logout. */
  readonly client: string | undefined
  readonly person: Pick<Person, 'fhirUser'>
  readonly status: number
  readonly details?: FactDetails | undefined
}

/** From here on logs and usage counters name the person, too. */
export const auditLogin = async (
  { run }: Pick<Host, 'run'>,
  ctx: RequestContext,
  { operation, client, person: { fhirUser }, status, details }: LoginFact,
): Promise<void> => {
  ctx.caller = {
    kind: 'user',
    ...(client !== undefined && { client }),
    ...(fhirUser !== undefined && { user: fhirUser }),
  }
  await run.onAudit?.({ request: ctx, interaction: { kind: 'auth', operation }, status, details })
}
