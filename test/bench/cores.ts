/** Who runs where: what is measured on one core, the load on another, so that neither takes the other's time. */
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

export interface Cores {
  /** For the processes that are measured; undefined when processes cannot be bound here. */
  readonly server: number | undefined
  /** One line for the head of the report. */
  readonly description: string
}

const hasTaskset = (): boolean => spawnSync('taskset', ['--version']).status === 0

/** Binds this process, the load generator, and tells where servers go. */
export const bindCores = (): Cores => {
  if (availableParallelism() < 2)
    return { server: undefined, description: 'one core for server and load: ratios say little' }
  if (!hasTaskset()) return { server: undefined, description: 'not bound to cores: there is no taskset' }
  // The highest core for the load: interrupts tend to be served by the lowest.
  const ours = availableParallelism() - 1
  const bound = spawnSync('taskset', ['-a', '-c', '-p', String(ours), String(process.pid)])
  if (bound.status !== 0) return { server: undefined, description: 'not bound to cores: taskset may not' }
  return { server: 0, description: `server on core 0, load on core ${ours}` }
}
