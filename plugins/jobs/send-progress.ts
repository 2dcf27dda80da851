/** Answers 202 with the progress of a job that has not ended. */
import type { FastifyReply } from 'fastify'
import type { JobRow } from './tables.ts'

/** `seconds`: until the client may poll again. */
export const sendProgress = (
  reply: FastifyReply,
  { state, progress }: Pick<JobRow, 'state' | 'progress'>,
  seconds: number,
): FastifyReply => {
  const shown = progress === '' ? (state === 'queued' ? 'waiting' : 'begun') : progress
  return reply
    .code(202)
    .headers({ 'retry-after': String(seconds), 'x-progress': shown })
    .send()
}
