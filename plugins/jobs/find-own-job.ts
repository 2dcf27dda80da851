/** The job that a request names, for those who have begun it. */
import type { Caller, ServerError } from '../../kernel/index.ts'
import { isJobId } from './job-id.ts'
import { isOwner } from './owner.ts'
import type { JobRow } from './tables.ts'

/** Throws `unknown` where there is none of this kind, it was cancelled, or it is another caller's. */
export const findOwnJob = async (
  jobs: { find(id: string): Promise<JobRow | undefined> },
  { id, kind, caller }: { readonly id: string; readonly kind: string; readonly caller: Caller },
  unknown: () => ServerError,
): Promise<JobRow> => {
  const job = isJobId(id) ? await jobs.find(id) : undefined
  if (job === undefined || job.kind !== kind || job.state === 'cancelled' || !isOwner(job, caller)) throw unknown()
  return job
}
