/** What the pages are made from. */
import type { Clock, Runners } from '../../kernel/index.ts'
import type { Trail } from '../audit/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { Metering } from '../metering/service.ts'
import type { StoredRequests } from '../request-log/service.ts'
import type { ResourceCounts } from './resource-counts.ts'
import type { ServerFacts } from './server-facts.ts'

export interface ConsoleParts {
  readonly run: Runners
  readonly clock: Clock
  readonly facts: { read(): Promise<ServerFacts> }
  readonly counts: () => Promise<ResourceCounts | undefined>
  /** Names of the resource types of the installed packages. */
  readonly types: () => readonly string[]
  /** Undefined where their plugin is disabled, or stores nothing. */
  readonly jobs: Jobs | undefined
  readonly metering: Metering | undefined
  readonly requests: StoredRequests | undefined
  readonly trail: Trail | undefined
}
