/** What the server knows of one request: a fixed shape, built once, passed to every hook. */
import type { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Logger } from 'pino'
import { AddressLate, AddressMalformed } from './errors.ts'
import type { OwnUrl } from './own-url.ts'
import type { OpenBody, RawBody } from './raw-body.ts'
import type { Upgrade } from './upgrades.ts'

/** Cost and quota classes. Spec: [rate_limit.cost]; `admin` is for what shows the use of the server. */
export const REQUEST_CLASSES = ['read', 'search', 'write', 'bundle', 'operation', 'export', 'sync', 'admin'] as const
export type RequestClass = (typeof REQUEST_CLASSES)[number]

/** Who calls. Without a token a caller is known by address alone. Spec: Authentication 8. */
export interface Caller {
  /** `anonymous` when no plugin recognised a caller. */
  readonly kind: 'anonymous' | 'client' | 'user' | 'internal'
  readonly client?: string
  /** FHIR reference of the user, e.g. `Practitioner/p1`. */
  readonly user?: string
  readonly scopes?: readonly string[]
  /** Identifies the token (its `jti`), never the token itself. */
  readonly tokenId?: string
  /** What the token is about: ids of a Patient and of an Encounter. */
  readonly launch?: { readonly patient?: string; readonly encounter?: string }
  /** Of a user who is a RelatedPerson: id of the Patient whom that person belongs to. */
  readonly relatedTo?: string
}

export const ANONYMOUS: Caller = Object.freeze({ kind: 'anonymous' })

/** A FHIR interaction, https://hl7.org/fhir/R4/valueset-type-restful-interaction.html */
export type InteractionKind =
  | 'read'
  | 'vread'
  | 'update'
  | 'patch'
  | 'delete'
  | 'history-instance'
  | 'history-type'
  | 'history-system'
  | 'create'
  | 'search-type'
  | 'search-system'
  | 'capabilities'
  | 'transaction'
  | 'batch'
  | 'operation'
  | 'admin'
  | 'auth'
  /** Refused before it was known which of the others it asks for; `operation` is the method. */
  | 'request'

/** One interaction with the data; a Bundle has one for each entry. */
export interface Interaction {
  readonly kind: InteractionKind
  readonly type?: string | undefined
  readonly id?: string | undefined
  readonly version?: number | undefined
  /** Name of an operation without the `$`, path of an admin endpoint, or step of an authentication: `login`, `token`. */
  readonly operation?: string | undefined
  /** Index of the Bundle entry this came from. */
  readonly entry?: number | undefined
}

export interface RequestContextInit {
  /** `http` when left out. */
  readonly origin?: 'http' | 'server'
  readonly id: string
  readonly method: string
  readonly url: string
  readonly baseUrl: string
  readonly ownUrl: OwnUrl | undefined
  readonly address: string
  readonly headers: IncomingHttpHeaders
  readonly requestClass: RequestClass
  readonly route: string | undefined
  readonly relays?: boolean
  readonly startedAt: number
  readonly log: Logger
  /** Its `close` before it is finished means that the client went away; null for internal requests. */
  readonly response:
    | (EventEmitter & {
        readonly writableFinished: boolean
        setHeader(name: string, value: string | readonly string[]): unknown
      })
    | null
  /** Where there is no response: what gives the work up. */
  readonly signal?: AbortSignal | undefined
}

/** What the kernel alone does to a request while it goes through the hooks. */
export interface Steps {
  /** Whether `setAddress` is taken. */
  openAddress(request: RequestContext, isOpen: boolean): void
  giveBody(request: RequestContext, body: OpenBody | undefined): void
  hasTakenBody(request: RequestContext): boolean
  giveUpgrade(request: RequestContext, take: () => Upgrade | undefined): void
}

/** One request. Hooks may read everything; only `caller` changes, once, after `authenticate`, and `address` before. */
export class RequestContext {
  /** Among the private members, so that nobody but the kernel has them: see `steps`. */
  static readonly steps: Steps = {
    openAddress: (request, isOpen) => {
      request.#isAddressOpen = isOpen
    },
    giveBody: (request, body) => {
      request.#body = body
    },
    giveUpgrade: (request, take) => {
      request.#takeUpgrade = take
    },
    hasTakenBody: (request) => request.#body?.isTaken === true,
  }

  /** `server`: made by `host.request`. Nobody authenticated it, and `admit` and `meter` do not see it. */
  readonly origin: 'http' | 'server'
  /** X-Request-Id: the caller's own when well-formed, else made here. */
  readonly id: string
  readonly method: string
  /** Path and query as received, without host and mount prefix. */
  readonly url: string
  /**
   * Base of the links that are sent, absolute and without a slash at the end: `[server] public_url`, else made from the
   * Host header. The client chooses that header: never decide anything by this URL.
   */
  readonly baseUrl: string
  /**
   * The URL under which absolute references are this server's own: `[server] public_url`, else the address that the
   * kernel listens at. Undefined where there is neither: then no absolute reference is this server's.
   */
  readonly ownUrl: OwnUrl | undefined
  readonly headers: IncomingHttpHeaders
  readonly requestClass: RequestClass
  /** The path as its plugin declared it, `/:type/:id`: it holds nothing that a client wrote. Undefined when none is met. */
  readonly route: string | undefined
  /** True where the route says `relay`: the answer may come from another server. */
  readonly relays: boolean
  /** Milliseconds since the epoch, from the kernel's clock. */
  readonly startedAt: number
  caller: Caller = ANONYMOUS
  readonly #root: Logger
  readonly #response: RequestContextInit['response']
  #address: string
  #isAddressOpen = false
  #body: OpenBody | undefined
  #takeUpgrade: (() => Upgrade | undefined) | undefined
  #log: Logger | undefined
  #vary: string | undefined
  #signal: AbortSignal | undefined

  constructor(init: RequestContextInit) {
    this.origin = init.origin ?? 'http'
    this.id = init.id
    this.method = init.method
    this.url = init.url
    this.baseUrl = init.baseUrl
    this.ownUrl = init.ownUrl
    this.#address = init.address
    this.headers = init.headers
    this.requestClass = init.requestClass
    this.route = init.route
    this.relays = init.relays ?? false
    this.startedAt = init.startedAt
    this.#root = init.log
    this.#response = init.response
    this.#signal = init.signal
  }

  /** The client's address behind trusted proxies. */
  get address(): string {
    return this.#address
  }

  /**
   * Says where the request really comes from, when a server that is trusted has passed it on. In `beforeRequest` only:
   * whoever is asked later has judged by it. Throws `AddressLate`, or `AddressMalformed` for what is no IP address.
   */
  setAddress(address: string): void {
    if (!this.#isAddressOpen) throw AddressLate()
    if (isIP(address) === 0) throw AddressMalformed()
    this.#address = address
  }

  /** The body before it is parsed: while `relay` is asked, and where there is one. */
  get body(): RawBody | undefined {
    return this.#body
  }

  /**
   * Takes the connection of a request for a WebSocket, in the handler of a route with `upgrade: true`; the handshake is the
   * handler's. Once; undefined elsewhere, and when the client has left. `signal` aborts when the connection closes.
   */
  takeUpgrade(): Upgrade | undefined {
    return this.#takeUpgrade?.()
  }

  /**
   * Sets a header of the answer, whatever that will be: before it is sent. A list is sent as so many lines; of one name the
   * last call counts, and a header of the answer itself comes before it.
   */
  setHeader(name: string, value: string | readonly string[]): void {
    this.#response?.setHeader(name, value)
  }

  /** Names of request headers that the answer differs by, whatever that will be: they are added to its own `Vary`. */
  varyBy(names: string): void {
    this.#vary = this.#vary === undefined ? names : `${this.#vary}, ${names}`
  }

  /** As `varyBy` was told; undefined where it was not. */
  get variesBy(): string | undefined {
    return this.#vary
  }

  /** Lines that carry this request's id. Made when asked for: most requests log nothing of their own. */
  get log(): Logger {
    this.#log ??= this.#root.child({ request: this.id })
    return this.#log
  }

  /** Aborted when the client goes away; of a request of the server, by who made it. Made when asked for, by whoever starts slow work. */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const controller = new AbortController()
      const response = this.#response
      response?.once('close', () => {
        if (!response.writableFinished) controller.abort()
      })
      this.#signal = controller.signal
    }
    return this.#signal
  }
}

/** For the kernel's own files. */
export const { steps } = RequestContext
