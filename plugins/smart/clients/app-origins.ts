/**
 * Origins from which pages of registered clients may call this server: those of their redirect URIs, held in memory.
 */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import { originOf, type WebApps } from '../../cors/service.ts'
import type { Database } from '../../database/service.ts'
import { PATHS } from '../issuer.ts'
import { type ClientRow, type ClientsSeen, clientsSeen, listClients } from '../tables.ts'
import { clientOfRow } from './clients.ts'

const RELOAD_MS = 5_000 // until this server sees a client that another server or a command has added or disabled

/** Routes whose answer is the same for every caller. */
const OPEN_ROUTES = [
  '/.well-known/smart-configuration',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-authorization-server/*',
  PATHS.jwks,
]

/** Pages of the login, which scripts of other pages never read. RFC 9700, section 2.6 */
const CLOSED_ROUTES = [
  PATHS.authorize,
  `${PATHS.interaction}/:id`,
  `${PATHS.interaction}/:id/:step`,
  PATHS.callback,
  PATHS.logout,
]

export interface AppOrigins extends WebApps {
  start(): Promise<void>
  stop(): Promise<void>
  /** Reads the clients again. Called after a registration. */
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
    // Read before the clients, so that a change meanwhile is noticed at the next reload.
    const now = JSON.stringify(await database.get<ClientsSeen>(clientsSeen, []))
    if (now === seen) return
    origins = new Set((await database.all<ClientRow>(listClients, [])).flatMap(originsOf))
    seen = now
  }
  const onError = (error: unknown): void => log.error({ err: error }, 'the clients could not be read again')
  return {
    hasOrigin: (origin) => origins.has(origin),
    openRoutes: OPEN_ROUTES,
    closedRoutes: CLOSED_ROUTES,
    async start() {
      await reload()
      repeating = every(clock, RELOAD_MS, reload, onError)
    },
    stop: async () => repeating?.stop(),
    reload,
  }
}
