/** What a connection calls on its live queries, and what a query calls on its connection. */
import type { Clock, Restriction } from '../../kernel/index.ts'
import type { SessionReads } from '../fhir/service.ts'
import type { ChangeHub } from './change-hub.ts'
import type { PatientsOf, ResourceDelta } from './judged-change.ts'
import type { PositionSeal } from './position-seal.ts'
import type { ResetReason } from './receiver.ts'

export const PAGE_SIZE = 50
/** A quiet query sends a newer position by time alone: by what others write, it would show how much that is. */
export const RENEWS_AFTER_MS = 30_000
export const PAGE_BYTES = 1_048_576 // characters of resources, after which a page ends

export interface LiveQuery {
  readonly id: string
  readonly type: string
  /** What its results were limited to when it began. */
  readonly restrictions: readonly Restriction[]
  /** True as long as there are more pages. */
  readonly isLoading: boolean
  /** Sends the first page, or what has changed since `resume`. Throws 400, 403. */
  start(resume: string | undefined): Promise<void>
  /** Sends the next page, if there is one; behind the last one the query is ready. */
  more(): Promise<void>
  /** Sends what waits, once the connection takes more. */
  flush(): void
  /** When `renew` is due, on the monotonic clock: RENEWS_AFTER_MS after it was made, or renewed. */
  readonly renewsAt: number
  /** Sends a newer position, where there is one. */
  renew(now: number): void
  reset(reason: ResetReason): void
  end(): void
}

export interface Outlet {
  /** True while nothing may be sent: the client reads slowly, or its rights are being checked. */
  readonly isBlocked: boolean
  /** One message. `rest`: the end of its text in UTF-8, where others send the same one. */
  send(text: string, rest?: Buffer): void
  /** Checks the rights of the connection's caller at each call. */
  readonly session: () => SessionReads
  /** For the audit trail. False where it cannot be recorded: then the delta is not sent. */
  recordShown(query: { readonly type: string; readonly text: string }, delta: ResourceDelta): boolean
  /** The query has ended by itself. */
  ended(query: LiveQuery): void
}

/** What all live queries of a connection share. */
export interface LiveQueryParts {
  readonly outlet: Outlet
  readonly hub: ChangeHub
  readonly seal: PositionSeal
  /** Of the server itself: what it reads is tested against the matcher before it is shown. */
  readonly internal: Pick<SessionReads, 'read' | 'subject'>
  readonly patientsOf: PatientsOf
  readonly clock: Clock
  readonly onError: (query: LiveQuery, error: unknown) => void
}

/** The search parameters of a query such as `Patient?gender=male`. */
export const parametersOf = (type: string, query: string): string => query.slice(type.length + 1)

export const pageText = (id: string, resources: readonly string[], more: boolean): string =>
  `{"op":"page","id":${JSON.stringify(id)},"resources":[${resources.join(',')}],"more":${more}}`

export const readyText = (id: string, at: string): string => JSON.stringify({ op: 'ready', id, at })

export const resetText = (id: string, reason: ResetReason): string => JSON.stringify({ op: 'reset', id, reason })

/** The beginning of a delta; what follows is the `rest` of the `ResourceDelta`. */
export const deltaText = (id: string, at: string): string => `{"op":"delta","ids":[${JSON.stringify(id)}],"at":"${at}"`
