/** Origins of the pages that registered clients are: those of their redirect URIs, in memory. */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import { originOf, type WebApps } from '../../cors/service.ts'
import type { Database } from '../../database/service.ts'
import { PATHS } from '../issuer.ts'
import { type ClientRow, type ClientsSeen, clientsSeen, listClients } from '../tables.ts'
import { clientOfRow } from './clients.ts'

const RELOAD_MS = 5_000 // until a client that another server or a command has added or disabled is known here

/** Say the same to everybody who asks. */
const OPEN_ROUTES = [
  '/.well-known/smart-configuration',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-authorization-server/*',
  PATHS.jwks,
]

export interface AppOrigins extends WebApps {
  start(): Promise<void>
  stop(): Promise<void>
  /** When clients have changed. */
  reload(): Promise<void>
}

export interface AppOriginsParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
}

const originsOf = (row: ClientRow): readonly string[] => {
  const { disabledAt, metadata } = clientOfRow(row)
  return disabledAt === undefined ? (metadata.redirect_uris ?? []).flatMap((uri) => originOf(uri) ?? []) : []
}

export const createAppOrigins = ({ database, clock, log }: AppOriginsParts): AppOrigins => {
  let origins: ReadonlySet<string> = new Set()
  let seen = ''
  let repeating: Repeating | undefined
  const reload = async (): Promise<void> => {
    // Taken first: what changes while the clients are read is read the next time.
    const now = JSON.stringify(await database.get<ClientsSeen>(clientsSeen, []))
    if (now === seen) return
    origins = new Set((await database.all<ClientRow>(listClients, [])).flatMap(originsOf))
    seen = now
  }
  const onError = (error: unknown): void => log.error({ err: error }, 'the clients could not be read again')
  return {
    hasOrigin: (origin) => origins.has(origin),
    openRoutes: OPEN_ROUTES,
    closedRoutes: [],
    async start() {
      await reload()
      repeating = every(clock, RELOAD_MS, reload, onError)
    },
    stop: async () => repeating?.stop(),
    reload,
  }
}
