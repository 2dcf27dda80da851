/** Puts the parts of live queries together. */
import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Clock, Logger, OwnUrl, ServerError } from '../../kernel/index.ts'
import type { Resources, Session } from '../fhir/service.ts'
import type { Limits } from '../limits/service.ts'
import type { Searches } from '../search/service.ts'
import { createChangeHub } from './change-hub.ts'
import type { ChangeSource } from './change-source.ts'
import { CLOSE } from './channel.ts'
import type { ConnectionParts } from './connection-parts.ts'
import type { PatientsOf } from './judged-change.ts'
import { createOpenConnections, type OpenConnections } from './open-connections.ts'
import { createPositionSeal } from './position-seal.ts'

export interface LiveQueriesParts {
  readonly resources: Resources
  /** Of the server itself. */
  readonly internal: Session
  readonly searches: Searches
  readonly limits: Limits | undefined
  readonly source: ChangeSource
  readonly ownUrl: () => OwnUrl | undefined
  readonly refusal: () => ServerError | undefined
  readonly clock: Clock
  readonly log: Logger
}

export interface LiveQueries {
  readonly open: OpenConnections
  connection(): ConnectionParts
  /** Listens to changes for ten minutes at least: clients of another server may come. */
  listen(): void
  handOver(): Promise<void>
  stop(): Promise<void>
}

export const createLiveQueries = ({
  resources,
  internal,
  searches,
  limits,
  source,
  ownUrl,
  refusal,
  clock,
  log,
}: LiveQueriesParts): LiveQueries => {
  let own: OwnUrl | undefined
  const patientsOf: PatientsOf = ({ previous, next, resource }) => {
    const { patients } = searches.opened
    own ??= ownUrl()
    const of = (version: typeof next | undefined, parsed?: typeof resource): readonly string[] =>
      version?.json === undefined
        ? []
        : patients.ofResource(version.type, version.id, parsed ?? JSON.parse(version.json), own)
    return [...new Set([...of(previous), ...of(next, resource)])]
  }
  const hub = createChangeHub({
    ...{ source, subject: internal.subject, patientsOf, log },
    keepRows: (wants) => searches.opened.search.registry.written.want(wants),
  })
  // Node looks at a Buffer longer than at a key before it uses it.
  let key: KeyObject | undefined
  const seal = createPositionSeal(() => {
    key ??= createSecretKey(searches.opened.search.registry.keyFor('sync'))
    return key
  })
  const open = createOpenConnections(
    clock,
    () => hub.tick(clock.monotonic()),
    refusal,
    (error) => log.error({ err: error }, 'live queries could not be looked after'),
  )
  const parts: ConnectionParts = {
    ...{ hub, seal, internal, patientsOf, clock, resources, log },
    ...{ openQuery: open.openQuery, closeQuery: open.closeQuery },
    limit: limits === undefined ? undefined : (request) => limits.sync.connect(request),
  }
  return {
    open,
    connection: () => parts,
    listen: hub.listen,
    async handOver() {
      open.closeAll(CLOSE.stopping, 'the server stops')
    },
    async stop() {
      await open.stop()
      hub.stop()
    },
  }
}
