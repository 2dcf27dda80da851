/** Arguments of hooks: a write, a commit, a fact for the audit trail, the usage of one request. */
import type { Interaction, Relayed, RequestContext } from './context.ts'

/**
 * One version of a resource. `json` is the exact text that is stored and sent; absent for a deletion. It is decompressed when it is
 * read, by a getter of the object's class: a copy made with a spread or with JSON.stringify does not have it.
 */
export interface ResourceVersion {
  readonly type: string
  readonly id: string
  /** 1, 2, 3, … without gaps. */
  readonly version: number
  /** Milliseconds since the epoch, as in `meta.lastUpdated`. */
  readonly lastUpdated: number
  readonly json?: string
}

/**
 * Types that plugins add to the kernel's. The one that provides the database says what a transaction is:
 * `declare module '../../kernel/index.ts' { interface Registered { transaction: Transaction } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: an interface can be added to, a type cannot
export interface Registered {}

/** The transaction of a change: unknown where no plugin that provides a database is imported. */
export type WriteTransaction = Registered extends { readonly transaction: infer T } ? T : unknown

/** A change inside its transaction. A tap of `onWrite` that throws rolls it back. */
export interface Write {
  readonly request: RequestContext
  readonly interaction: Interaction
  readonly previous?: ResourceVersion | undefined
  readonly next: ResourceVersion
  /** The parsed resource; undefined for a deletion. Do not change it. */
  readonly resource?: Readonly<Record<string, unknown>> | undefined
  /** The transaction of this write: statements run in it are committed or rolled back with the write. */
  readonly transaction: WriteTransaction
}

/** The same changes after COMMIT returned. */
export interface Committed {
  readonly request: RequestContext
  readonly changes: readonly Omit<Write, 'transaction' | 'request'>[]
}

/**
 * Details of an interaction for the audit trail. They are functions so that they are computed only if a tap needs them.
 */
export interface FactDetails {
  /** References of the patients whose data was shown or changed: `Patient/p1`. */
  patients?(): readonly string[]
  /** Search parameters as they were sent. */
  query?(): string
  /** Scopes that were granted, separated by spaces. Where search parameters are not stored, their conditions are not. */
  scopes?(): string
  /** Number of resources shown, where one fact covers more than one page of them. */
  readonly count?: number
}

/** One fact for the audit trail. It holds references, and no content of resources. */
export interface AuditFact {
  readonly request: RequestContext
  readonly interaction: Interaction
  /** HTTP status of this interaction's answer. */
  readonly status: number
  /** Version the interaction read or made. */
  readonly version?: number | undefined
  /** True for a refusal about a resource that exists and is hidden from the caller. The answer does not reveal that. */
  readonly hidden?: boolean | undefined
  readonly details?: FactDetails | undefined
  /** The transaction of a change; unset for other interactions. */
  readonly transaction?: WriteTransaction
}

/** What one request used; counted after its last byte. */
export interface Usage {
  readonly request: RequestContext
  /** As `request.relayed`: of a request that two servers worked on, `received` is counted by the other one. */
  readonly relayed: Relayed | undefined
  /** 499 when the client left before there was an answer. */
  readonly status: number
  /** Bytes on the wire, heads included; of an injected request, those of its body. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** Milliseconds from the first byte of the request to the last of the answer. */
  readonly duration: number
}
