/**
 * A server in the process of the test that listens, with the plugins and settings of one in a process of its own
 * (spawn-server.ts): for tests that neither kill nor suspend it. A process takes several times the CPU time to start.
 */
import { createKernel } from '../../kernel/index.ts'
import { namedPlugins } from './named-plugins.ts'
import { withReadyKeys } from './server-with.ts'
import type { SpawnOptions } from './spawn-server.ts'
import { startWithin } from './start-within.ts'

export interface ServerHere {
  readonly base: string
  /** The exit code of a failure that ends a process. */
  readonly failed: Promise<number>
  /** As at SIGTERM. */
  stop(): Promise<void>
}

/** `place`: sections that open a database, which others may have open as well. */
export const serveHere = async (
  place: Readonly<Record<string, unknown>>,
  { plugins = [], settings, isEarly = false }: Pick<SpawnOptions, 'plugins' | 'settings' | 'isEarly'> = {},
): Promise<ServerHere> => {
  const kernel = await createKernel({
    plugins: await withReadyKeys(await namedPlugins(plugins)),
    settings: {
      server: { bind: '127.0.0.1:0' },
      conformance: { update_as_create: true },
      ...settings,
      ...place,
    },
    log: { level: 'silent' },
  })
  const base = await kernel.listen()
  const starting = isEarly ? kernel.start() : startWithin(kernel)
  if (isEarly)
    starting.catch(() => undefined) // it was stopped while it waited
  else await starting
  const failed = kernel.failed.then(({ exitCode }) => exitCode)
  return { base, failed, stop: () => kernel.stop() }
}
