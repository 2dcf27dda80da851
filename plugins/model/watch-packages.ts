/** On a server that only reads: notices that the one that writes has installed other packages and compiled them. */
import { type Clock, every, type Logger } from '../../kernel/index.ts'
import { createFreshRuns, type Database } from '../database/service.ts'
import type { Definitions } from '../packages/service.ts'
import { readCatalog } from './tables.ts'

const WATCH_MS = 5_000

export interface WatchPackagesParts {
  readonly database: Database
  readonly definitions: Definitions
  readonly clock: Clock
  readonly log: Logger
  /** Called once. Everything derived from the packages has to be derived again. */
  readonly onChange: () => void
}

export interface PackageWatch {
  /** Looks at once, because the feed has published a change of the packages. */
  soon(): void
  stop(): Promise<void>
}

/** It looks every five seconds. */
export const watchPackages = ({ database, definitions, clock, log, onChange }: WatchPackagesParts): PackageWatch => {
  const { fingerprint } = definitions
  let isReported = false
  const watch = async (): Promise<void> => {
    await definitions.refresh()
    if (isReported || definitions.fingerprint === fingerprint) return
    // Until they are compiled, a server that restarts would only wait for that.
    if ((await database.get(readCatalog, [definitions.fingerprint])) === undefined) return
    isReported = true
    onChange()
  }
  const onError = (error: unknown): void => log.debug({ err: error }, 'the packages cannot be looked at')
  const looks = createFreshRuns(watch)
  const repeating = every(clock, WATCH_MS, looks.fresh, onError)
  return {
    soon: () => void looks.fresh().catch(onError),
    stop: async () => void (await Promise.all([repeating.stop(), looks.stop()])),
  }
}
