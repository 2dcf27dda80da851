/** Records a request about a job, for example for one of its files, in the audit trail. */
import type { Interaction, RequestContext, Runners } from '../../kernel/index.ts'

/** `count`: number of resources that the answer shows. */
export const emitJobAudit = async (
  { onAudit }: Pick<Runners, 'onAudit'>,
  request: RequestContext,
  interaction: Pick<Interaction, 'operation' | 'type'>,
  status: number,
  count?: number,
): Promise<void> => {
  const details = count === undefined ? undefined : { count }
  await onAudit?.({ request, interaction: { kind: 'operation', ...interaction }, status, details })
}
