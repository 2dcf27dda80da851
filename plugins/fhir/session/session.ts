/** What a plugin may do with the data: the interactions of HTTP, performed by the same code for a given caller. */
import type { Caller, Issue, RequestContext, Restriction } from '../../../kernel/index.ts'
import type { MaybePromise, Transaction } from '../../database/service.ts'
import type { ParsedResource } from '../../model/service.ts'
import type { Matcher, MatchSubject } from '../../search/service.ts'

/**
 * For whom a session acts. A plugin states it once; every call of the session is authorized and audited accordingly.
 */
export type Who =
  /** The caller of a request: each interaction calls the `authorize` taps and is audited. */
  | RequestContext
  /**
   * A caller that was authorized before, such as that of an export. The given restrictions apply and no taps are
   * called, so that repeated work gives the same bytes. Each read and change is audited; a stream is audited once, with
   * its number of resources.
   */
  | {
      readonly kind: 'stored'
      readonly caller: Caller
      /** As `ruling` returned them; they may have been stored as JSON in between. */
      readonly restrictions: readonly Restriction[]
      /** One word for the audit trail and logs: `export`. */
      readonly purpose: string
      /** Base URL of links. */
      readonly baseUrl: string
      /** Updates create a missing resource under its id, whatever the setting [conformance] update_as_create. */
      readonly updateAsCreate?: true
      readonly signal?: AbortSignal
    }
  /**
   * The server itself, which sees everything. Only its changes are audited, so it must not read what is shown to a
   * caller.
   */
  | {
      readonly kind: 'internal'
      readonly purpose: string
      /** Updates create a missing resource under its id, whatever the setting [conformance] update_as_create. */
      readonly updateAsCreate?: true
      /** Nobody searches meanwhile: searches may wait longer for what the session writes. */
      readonly readsMayWait?: true
      readonly baseUrl?: string
      readonly signal?: AbortSignal
    }

/** A body as it is stored; `decompressBody` of storage turns it into UTF-8. */
export interface PackedBody {
  readonly bytes: Uint8Array
  /** The number of the compression; 0 for none. */
  readonly encoding: number
}

/** A version of a resource that is not a deletion: the current one, or a past one where `read` was given its number. */
export interface CurrentResource {
  readonly type: string
  readonly id: string
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly lastUpdated: number
  /** The JSON as it is stored; decompressed at the first use. */
  readonly json: string
  /** The body as it is stored, for a thread that decompresses it. */
  readonly packed: PackedBody
  /** Parses the JSON again at each call. */
  parse(): Record<string, unknown>
}

export interface Page {
  readonly matches: readonly CurrentResource[]
  /** Resources that `_include` and `_revinclude` add. */
  readonly included: readonly CurrentResource[]
  /** The number of all matches. Undefined unless `_total` requests it, or it is known anyway. */
  readonly total: number | undefined
  /** The token for `after`; undefined on the last page. Valid for a day, for this caller and query. */
  readonly next: string | undefined
  /** Warnings about parameters that were ignored, and resources that were left out. */
  readonly issues: readonly Issue[]
}

/**
 * `key` lets a stream continue after this resource, in any process. It must not be shown to clients, because it reveals
 * how many resources there are.
 */
export type Streamed = CurrentResource & { readonly key: string }

/** A range of resource keys: the part of a stream's key after the point. */
export interface NumberRange {
  /** Exclusive lower bound. */
  readonly above?: number
  /** Inclusive upper bound. */
  readonly upTo?: number
}

export interface PastVersion {
  readonly type: string
  readonly id: string
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly lastUpdated: number
  /** The HTTP method that made the version. */
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Undefined for a deletion. */
  readonly json: string | undefined
  /** Lets a history continue after this version, in any process. */
  readonly key: string
}

export interface HistoryOptions {
  /** Without type and id, the history of the whole server. */
  readonly type?: string
  readonly id?: string
  /** First and last time, milliseconds since the epoch, both inclusive. */
  readonly since?: number
  readonly upTo?: number
  /** Key of the version after which the history continues. */
  readonly after?: string
}

/** A condition on the current version. */
interface Precondition {
  /** Number that the current version must have. */
  readonly ifMatch?: number
}
/** The resource with an id, or the one that search parameters find: `identifier=http://example.org|1`. */
type Target =
  | { readonly id: string; readonly condition?: undefined }
  | { readonly condition: string; readonly id?: undefined }

interface Content {
  readonly json: string
  /** What `parseResourceText` has made of `json`, where the caller needs it too. */
  readonly parsed?: ParsedResource | undefined
}

/** One change. It is validated, authorized, passed to the hooks and audited like the same change over HTTP. */
export type SessionChange =
  /** With a condition, creates only when nothing matches. */
  | ({ readonly kind: 'create'; readonly type: string; readonly condition?: string } & Content)
  /** With a condition, updates the match, or creates when nothing matches. */
  | ({ readonly kind: 'update'; readonly type: string } & Content & Target & Precondition)
  | ({ readonly kind: 'delete'; readonly type: string } & Target & Precondition)
  | ({
      /**
       * Makes the next version from the current one at the time of the write; undefined changes nothing. May be called
       * several times.
       */
      readonly kind: 'modify'
      readonly type: string
      revise(json: string): string | undefined
    } & Target &
      Precondition)

/** The version that a change has made; the current version when nothing was changed. */
export interface SessionChanged {
  readonly type: string
  readonly id: string
  readonly version: number
  /** Undefined for a deletion, and when the caller may not read the version. */
  readonly json: string | undefined
  /** True when the resource did not exist before. */
  readonly created: boolean
  /** False when there was nothing to write. */
  readonly written: boolean
}

export interface Made {
  /** In the order of the changes. Undefined for a conditional deletion without a match. */
  readonly changed: readonly (SessionChanged | undefined)[]
}

/**
 * Runs statements of the plugin in the transaction of the changes. It may be called twice, so it must not change state
 * outside the transaction.
 */
export type Beside = (transaction: Transaction, made: Made) => MaybePromise<void>

/** A version that was current at an earlier time; of a deletion, without content. */
export interface AsOfResource {
  readonly type: string
  readonly id: string
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly lastUpdated: number
  /** The resource key: reading goes on behind it. Not for clients. */
  readonly key: number
  readonly json: string
  /** The body as it is stored, for a thread that decompresses it. */
  readonly packed: PackedBody
}

export interface AsOfOptions {
  /** A version time of `VersionStore.closeTime`: microseconds since the epoch. */
  readonly upTo: number
  /** Only versions that were made after this version time. */
  readonly since?: number | undefined
  /** Only resources behind this key. */
  readonly after?: number
  /** The deletions, judged by what was deleted, instead of the resources that were there. */
  readonly deleted?: boolean
  /** Only the data of these patients, ids, or of any patient: resources in their compartments, and the Patients. */
  readonly patients?: ReadonlySet<string> | 'any' | undefined
  /** Awaited after each resource that had to be judged by its content. */
  pause?(): Promise<void> | undefined
  /** Called when work continues after a wait, with the milliseconds in which the database worked meanwhile. */
  resume?(aside: number): void
}

export interface SessionReads {
  /**
   * The current version, or the one with this number. Throws 404 and 410. A hidden version is 404, like one that does
   * not exist.
   */
  read(type: string, id: string, version?: number): Promise<CurrentResource>
  /** One page, with the parameters of a search over HTTP. `after` is the `next` of the page before. Throws 400, 403. */
  search(type: string, query: string, options?: { readonly after?: string }): Promise<Page>
  /**
   * All matches, newest resource first, each once. Resources created after the stream began are left out; of a changed
   * resource the current version at the time of reading is given. No transaction stays open, so the stream may be ended
   * at any time. Throws 400, 403.
   */
  stream(
    type: string,
    query: string,
    options?: { readonly after?: string; readonly within?: NumberRange },
  ): AsyncIterable<Streamed>
  /**
   * The versions that were current at a time, of all resources of a type that the caller may read and search, in
   * ascending order of their keys, some at once; the list may be empty. Each is judged by its own content, a Binary by the
   * current versions of its security contexts. Repeated, it gives the same, but for what was erased meanwhile. Throws 403.
   */
  asOf(type: string, options: AsOfOptions): AsyncIterable<readonly AsOfResource[]>
  /** Versions, newest first. Throws 404 for a resource of which the caller may see no version. */
  history(options: HistoryOptions): AsyncIterable<PastVersion>
  /**
   * Compiles a query, with the ruling, to a test of single resources. Null when the resource alone cannot decide it:
   * chains, `_has`, `_text` and `_content`, values that depend on the time. Throws 400, 403.
   */
  matches(type: string, query: string): Promise<Matcher | null>
  /**
   * Prepares a version for matchers. `resource` is its parsed content; `json`, if given, preserves the digits of long
   * numbers.
   */
  subject(
    of: Pick<CurrentResource, 'type' | 'id' | 'version' | 'lastUpdated'> & { readonly json?: string | undefined },
    resource: object,
  ): MatchSubject
  /**
   * The restrictions on searches of a type, to be stored or compared. Throws 403, which is recorded in the trail unless
   * `isAsked` is false: the caller has not asked for that type.
   */
  ruling(type: string, options?: { readonly isAsked?: boolean }): Promise<readonly Restriction[]>
}

export interface Session extends SessionReads {
  /**
   * Makes all changes or none, in one transaction, in the order of a transaction Bundle: deletions, creates, then the
   * others. A resource may be changed once. Retried when another writer came first. Resolves after COMMIT. Throws 4xx.
   */
  change(changes: readonly SessionChange[], beside?: Beside): Promise<Made>
  /**
   * Performs a Bundle of type transaction, given as JSON, as POST to the base does. Returns the answer as JSON, whose
   * entries have no content. `beside` runs statements of the plugin in the same transaction; it may be called twice.
   * Resolves after COMMIT. Throws 4xx, with the number of the entry that was refused.
   */
  transaction(json: string, beside?: (transaction: Transaction) => MaybePromise<void>): Promise<string>
}
