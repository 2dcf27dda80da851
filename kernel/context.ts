/** One request as hooks see it: an object of fixed shape that is built once and passed to every hook. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Logger } from 'pino'
import { ANONYMOUS, type Caller } from './caller.ts'
import { AddressLate, AddressMalformed, RelayMarkLate } from './errors.ts'
import { CLIENT_LEFT, type ContextResponse, leaveSignal } from './leave-signal.ts'
import type { OwnUrl } from './own-url.ts'
import type { OpenBody, RawBody } from './raw-body.ts'
import type { Upgrade } from './upgrades.ts'

export { ANONYMOUS, type Caller }

/** Cost and quota classes. Spec: [rate_limit.cost]; `admin` is for what shows the use of the server. */
export const REQUEST_CLASSES = ['read', 'search', 'write', 'bundle', 'operation', 'export', 'sync', 'admin'] as const
export type RequestClass = (typeof REQUEST_CLASSES)[number]

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
  /** The database was made of a backup. Nobody asks for it over HTTP. */
  | 'restore'
  /** A request that was refused before its interaction was known; `operation` is the HTTP method. */
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

/**
 * Which server counts a request that was relayed. `received`: another server relayed it here; that server applied its
 * limits and counts it. `sent`: this server relayed it; the other server made the answer and recorded the audit events.
 */
export type Relayed = 'received' | 'sent'

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
  readonly relays?: boolean | string
  readonly takesTokenLater?: boolean
  readonly startedAt: number
  readonly log: Logger
  /** The response. It emits `close` before `writableFinished` when the client leaves. Null for requests of the server. */
  readonly response: ContextResponse | null
  /** For requests without a response: aborting it cancels their work. */
  readonly signal?: AbortSignal | undefined
}

/** Changes to a request that only the kernel may make, between hooks. */
export interface Steps {
  /** Allows or forbids `setAddress`. */
  openAddress(request: RequestContext, isOpen: boolean): void
  giveBody(request: RequestContext, body: OpenBody | undefined): void
  hasTakenBody(request: RequestContext): boolean
  /** Allows or forbids `markSent`. */
  openRelay(request: RequestContext, isOpen: boolean): void
  giveUpgrade(request: RequestContext, take: () => Upgrade | undefined): void
  present(request: RequestContext): void
}

/** One request. Hooks may read everything; only `caller` changes, once, after `authenticate`, and `address` before. */
export class RequestContext {
  /** Inside the class, where the private members can be reached; the kernel's own files import it as `steps`. */
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
    present: (request) => {
      request.#isPresented = true
    },
    hasTakenBody: (request) => request.#body?.isTaken === true,
    openRelay: (request, isOpen) => {
      request.#isRelayOpen = isOpen
    },
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
  /**
   * The path as its plugin declared it, `/:type/:id`, so without anything that a client wrote. Undefined when no route
   * matches.
   */
  readonly route: string | undefined
  /**
   * Whether the hook `relay` is called: true where the route says so, the name of the request header where the route says
   * it of requests with that header, else false.
   */
  readonly relays: boolean | string
  readonly #takesTokenLater: boolean
  #awaitsToken = false
  #isPresented = false
  /** Milliseconds since the epoch, from the kernel's clock. */
  readonly startedAt: number
  caller: Caller = ANONYMOUS
  /** Set by what begins an interaction: `onAudit` gets a fact of it, whatever comes of it, also where the client leaves. */
  hasInteraction = false
  readonly #root: Logger
  readonly #response: RequestContextInit['response']
  #address: string
  #isAddressOpen = false
  #isRelayOpen = false
  #relayed: Relayed | undefined
  #body: OpenBody | undefined
  #takeUpgrade: (() => Upgrade | undefined) | undefined
  #log: Logger | undefined
  #vary: string | undefined
  #signal: AbortSignal | undefined
  #isGone = false

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
    this.#takesTokenLater = init.takesTokenLater ?? false
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
   * Sets the client's address, for a request that a trusted server has passed on. Allowed in `beforeRequest` only,
   * because later hooks decide by the address. Throws `AddressLate`, or `AddressMalformed` for what is not an IP
   * address.
   */
  setAddress(address: string): void {
    if (!this.#isAddressOpen) throw AddressLate()
    if (isIP(address) === 0) throw AddressMalformed()
    this.#address = address
  }

  /** Undefined for a request that one server alone works on. */
  get relayed(): Relayed | undefined {
    return this.#relayed
  }

  /**
   * Marks a request that another server relayed here: that server has applied its limits and counts it. Allowed in
   * `beforeRequest` only, to a tap that has verified the sender. Throws `RelayMarkLate`.
   */
  markReceived(): void {
    if (!this.#isAddressOpen) throw RelayMarkLate()
    this.#relayed = 'received'
  }

  /**
   * Marks a request that another server has answered, and recorded in the audit trail. Allowed only in taps of the hook
   * `relay`. Throws `RelayMarkLate`.
   */
  markSent(): void {
    if (!this.#isRelayOpen) throw RelayMarkLate()
    this.#relayed = 'sent'
  }

  /**
   * For a tap of `admit` that would refuse the request because it has no token: true where the route asks for the token
   * later, with `takesTokenLater`. Then the tap lets it pass, and the route shows nothing before it has a token.
   */
  awaitToken(): boolean {
    this.#awaitsToken ||= this.#takesTokenLater
    return this.#awaitsToken
  }

  /** True when `awaitToken` has let the request pass without a token. */
  get awaitsToken(): boolean {
    return this.#awaitsToken
  }

  /** True when the answer will be shown in another form, such as a page: kernel/presentation.ts. */
  get isPresented(): boolean {
    return this.#isPresented
  }

  /** The unparsed body, where there is one, while the taps of `relay` run; otherwise undefined. */
  get body(): RawBody | undefined {
    return this.#body
  }

  /**
   * Takes the connection of a request for a WebSocket, in the handler of a route with `upgrade: true`; the handler does
   * the handshake. Works once; undefined on other routes and when the client has left. `signal` aborts when the
   * connection closes.
   */
  takeUpgrade(): Upgrade | undefined {
    return this.#takeUpgrade?.()
  }

  /**
   * Sets a header of the answer, whichever route or hook gives it, until the head is sent. A list is sent as one line
   * for each item. The last call for a name wins, and a header of the answer itself replaces it.
   */
  setHeader(name: string, value: string | readonly string[]): void {
    this.#response?.setHeader(name, value)
  }

  /** Names of request headers that the answer differs by, whatever that will be: they are added to its own `Vary`. */
  varyBy(names: string): void {
    this.#vary = this.#vary === undefined ? names : `${this.#vary}, ${names}`
  }

  /** The names given to `varyBy`; undefined where it was not called. */
  get variesBy(): string | undefined {
    return this.#vary
  }

  /** A logger that adds this request's id to each line. Created at first use: most requests log nothing of their own. */
  get log(): Logger {
    this.#log ??= this.#root.child({ request: this.id })
    return this.#log
  }

  /**
   * Aborted when the client leaves or closes its side of the connection; for a request of the server, when its own
   * signal aborts. Created at first use, by code that starts slow work. An error that it causes is still sent, for a
   * client that closed only its own side.
   */
  get signal(): AbortSignal {
    this.#signal ??= leaveSignal(this.#response, () => {
      this.#isGone = true
    })
    return this.#signal
  }

  /** The status to record for an answer: 499 for a 503 of cancelled work that nobody gets, because the client has left. */
  recordedStatus(status: number): number {
    return status === 503 && this.#isGone ? CLIENT_LEFT : status
  }
}

/** For the kernel's own files. */
export const { steps } = RequestContext
