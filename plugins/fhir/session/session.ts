/** What a plugin may do with the data: the same interactions as over HTTP, by the same code, for whom it says. */
import type { Caller, Issue, RequestContext, Restriction } from '../../../kernel/index.ts'
import type { MaybePromise, Transaction } from '../../database/service.ts'
import type { Matcher, MatchSubject } from '../../search/service.ts'

/** For whom. A plugin says it once, and every call of the session is ruled on and told accordingly. */
export type Who =
  /** The caller of a request: `authorize` is asked for each interaction, the trail is told of each. */
  | RequestContext
  /**
   * A caller that was ruled on before, such as that of an export: these restrictions apply, and no tap is asked, so that the
   * work repeats to the byte. The trail is told of each read and change, and once of a stream, with its number of resources.
   */
  | {
      readonly kind: 'stored'
      readonly caller: Caller
      /** As `ruling` gave them; they may have been JSON meanwhile. */
      readonly restrictions: readonly Restriction[]
      /** A word, for the trail and logs: `export`. */
      readonly purpose: string
      /** Base of links. */
      readonly baseUrl: string
      readonly signal?: AbortSignal
    }
  /** The server itself, which sees everything. Only changes are told: what is shown to somebody is not read like this. */
  | {
      readonly kind: 'internal'
      readonly purpose: string
      readonly baseUrl?: string
      readonly signal?: AbortSignal
    }

/** A version with content. */
export interface CurrentResource {
  readonly type: string
  readonly id: string
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly lastUpdated: number
  /** As it is stored. Unpacked at the first use. */
  readonly json: string
  /** Parsed anew at each call. */
  parse(): Record<string, unknown>
}

export interface Page {
  readonly matches: readonly CurrentResource[]
  /** What `_include` and `_revinclude` add. */
  readonly included: readonly CurrentResource[]
  /** Where `_total` asks for it, and where it costs nothing. */
  readonly total: number | undefined
  /** For `after`; undefined on the last page. Good for a day, for this caller and query. */
  readonly next: string | undefined
  /** What was passed over, or left out. */
  readonly issues: readonly Issue[]
}

/** `key` continues the stream behind it, in any process. It is for this server: it names how many resources there are. */
export type Streamed = CurrentResource & { readonly key: string }

/** Resources by their numbers, which are the part of a key behind the point. */
export interface NumberRange {
  /** Only those beyond it. */
  readonly above?: number
  /** Only those up to it. */
  readonly upTo?: number
}

export interface PastVersion {
  readonly type: string
  readonly id: string
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly lastUpdated: number
  /** The method that made it. */
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Undefined for a deletion. */
  readonly json: string | undefined
  /** Continues the history behind it, in any process. */
  readonly key: string
}

export interface HistoryOptions {
  /** Both left out: the whole server. */
  readonly type?: string
  readonly id?: string
  /** Milliseconds since the epoch, both included. */
  readonly since?: number
  readonly upTo?: number
  /** A key. */
  readonly after?: string
}

/** What is asked of the current version. */
interface Precondition {
  /** Number of the version it must have. */
  readonly ifMatch?: number
}
/** The resource of an id, or the one that search parameters find: `identifier=http://example.org|1`. */
type Target =
  | { readonly id: string; readonly condition?: undefined }
  | { readonly condition: string; readonly id?: undefined }

/** One change. Read, validated, ruled on, hooked and told as the same change over HTTP. */
export type SessionChange =
  /** With a condition only where nothing matches it. */
  | { readonly kind: 'create'; readonly type: string; readonly json: string; readonly condition?: string }
  /** With a condition: of what matches, else a create. */
  | ({ readonly kind: 'update'; readonly type: string; readonly json: string } & Target & Precondition)
  | ({ readonly kind: 'delete'; readonly type: string } & Target & Precondition)
  | ({
      /** Makes the next version from the current one, whichever that is by then; undefined leaves it. May run several times. */
      readonly kind: 'modify'
      readonly type: string
      revise(json: string): string | undefined
    } & Target &
      Precondition)

/** The version that a change led to; the current one where there was nothing to change. */
export interface SessionChanged {
  readonly type: string
  readonly id: string
  readonly version: number
  /** Undefined for a deletion, and for who may not read it. */
  readonly json: string | undefined
  /** True where the resource was not there before. */
  readonly created: boolean
  /** False where nothing had to be written. */
  readonly written: boolean
}

export interface Made {
  /** In the order of the changes; undefined for a conditional deletion that found nothing. */
  readonly changed: readonly (SessionChanged | undefined)[]
}

/** Statements of the plugin's own, in the transaction of the changes. They may run twice: keep nothing outside. */
export type Beside = (transaction: Transaction, made: Made) => MaybePromise<void>

export interface SessionReads {
  /** The current version, or one by its number. Throws 404 and 410, also for what this caller may not see. */
  read(type: string, id: string, version?: number): Promise<CurrentResource>
  /** One page, by the parameters of a search over HTTP; `after` is the `next` of a page. Throws 400, 403. */
  search(type: string, query: string, options?: { readonly after?: string }): Promise<Page>
  /**
   * All that match, newest resource first, each once. What is made after it began is not among them; what changes before
   * it is read is given as it is then. Nothing is held open: end it whenever you like. Throws 400, 403.
   */
  stream(
    type: string,
    query: string,
    options?: { readonly after?: string; readonly within?: NumberRange },
  ): AsyncIterable<Streamed>
  /** Versions, newest first. Throws 404 for a resource of which none may be seen. */
  history(options: HistoryOptions): AsyncIterable<PastVersion>
  /**
   * A query as a test of single resources, the ruling included; null where it takes more than the resource to tell: chains,
   * `_has`, words, what changes with time. Throws 400, 403.
   */
  matches(type: string, query: string): Promise<Matcher | null>
  /** A version for matchers. `resource` is its content, parsed; `json`, where it is given, keeps the digits of long numbers. */
  subject(
    of: Pick<CurrentResource, 'type' | 'id' | 'version' | 'lastUpdated'> & { readonly json?: string | undefined },
    resource: object,
  ): MatchSubject
  /** What applies to searches of a type: to be stored, or compared. Throws 403. */
  ruling(type: string): Promise<readonly Restriction[]>
}

export interface Session extends SessionReads {
  /**
   * All changes or none, in one transaction, in the order of a transaction Bundle: deletions, creates, then the others. A
   * resource may be changed once. Tried again where others were faster. Resolves after COMMIT. Throws 4xx.
   */
  change(changes: readonly SessionChange[], beside?: Beside): Promise<Made>
}
