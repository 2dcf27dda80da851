/** Errors of jobs. */
import { defineError } from '../../kernel/index.ts'

export const JobLost = defineError('jobs/lost', 503, 'transient', 'This server does not work on the job any more.')
export const JobUnknown = defineError('jobs/unknown', 404, 'not-found', 'There is no job %s.')
export const JobsInUse = defineError(
  'jobs/in-use',
  409,
  'conflict',
  'Another process has %s open; ask it with DELETE, or stop it first.',
)
export const JobEnded = defineError('jobs/ended', 409, 'conflict', 'The job %s is %s already.')
