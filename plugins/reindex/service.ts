/** The service `ReindexJobs`: rebuilds the search index in a job, by whichever server can. */
import { defineService } from '../../kernel/index.ts'
import type { ReindexListener, ReindexScope } from '../search/service.ts'

export interface ReindexWatch extends Pick<ReindexListener, 'resumed' | 'waiting' | 'step'> {
  /** Called when the progress of a job on which another process works has changed. */
  elsewhere?(progress: string): unknown
  /** Called once, when another process may take the job. */
  offered?(): void
}

export interface ReindexJobs {
  /**
   * For a command: begins a job, or joins one with the same scope that has not ended, and resolves when it has ended. Where
   * other processes may use the database, they are given some time to take it; otherwise, and when none does, this
   * process works on it. Throws `fhir/reindex-unknown`, what a listener throws, and `reindex/not-done`.
   */
  run(scope: ReindexScope, watch: ReindexWatch): Promise<{ readonly resources: number }>
}

export const ReindexJobs = defineService<ReindexJobs>('reindex')
