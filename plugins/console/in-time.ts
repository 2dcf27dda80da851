/** Bounds what a page may cost the database. */
import type { Clock } from '../../kernel/index.ts'

/** What `work` gives, or undefined where it took longer than `ms`. */
export const inTime = async <T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> => {
  const late = clock.deadline(ms)
  try {
    const done = await work(AbortSignal.any([signal, late]))
    return late.aborted ? undefined : done
  } catch (error) {
    if (!late.aborted || signal.aborted) throw error
    return undefined
  }
}
