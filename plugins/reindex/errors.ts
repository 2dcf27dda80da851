/** Errors of `server reindex`. */
import { defineError } from '../../kernel/index.ts'

export const ReindexNotDone = defineError('reindex/not-done', 500, 'exception', 'The job %s is %s: %s')
