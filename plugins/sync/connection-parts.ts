/** What a connection of /sync is made of. */
import type { Clock, Logger, RequestContext } from '../../kernel/index.ts'
import type { Resources } from '../fhir/service.ts'
import type { SyncConnection } from '../limits/service.ts'
import type { Channel } from './channel.ts'
import type { ConnectionAccess } from './connection-access.ts'
import type { LiveQueryParts } from './live-query.ts'
import type { ShownPatients } from './shown-patients.ts'

export interface ConnectionParts extends Omit<LiveQueryParts, 'outlet' | 'onError'> {
  readonly resources: Resources
  readonly clock: Clock
  readonly log: Logger
  /** Counts a query of this server. Throws 503. */
  readonly openQuery: () => void
  /** Call it once when a query ends that was counted. */
  readonly closeQuery: () => void
  /** Counts the connection for its caller. Undefined where nothing is limited. */
  readonly limit: ((request: RequestContext) => SyncConnection) | undefined
}

export interface ConnectionOptions {
  readonly channel: Channel
  readonly access: ConnectionAccess
  readonly shown: ShownPatients
  /** True as long as the first message has to bring a token. */
  readonly awaitsToken: boolean
  /** What counts the connection until then. */
  readonly limited: SyncConnection | undefined
  /** Where the client cannot ask for them, pages are sent as fast as it takes them. */
  readonly pages: 'on request' | 'all'
}
