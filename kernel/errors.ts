/**
 * Errors are made once, in a table, and thrown by name. What a client may read is the message; what an operator must
 * know is `detail`, which only the log sees. All tables together are the published contract of status codes.
 */
import { format } from 'node:util'

/** FHIR R4 issue types, https://hl7.org/fhir/R4/valueset-issue-type.html */
export type IssueCode =
  | 'invalid'
  | 'structure'
  | 'required'
  | 'value'
  | 'invariant'
  | 'security'
  | 'login'
  | 'unknown'
  | 'expired'
  | 'forbidden'
  | 'suppressed'
  | 'processing'
  | 'not-supported'
  | 'duplicate'
  | 'multiple-matches'
  | 'not-found'
  | 'deleted'
  | 'too-long'
  | 'code-invalid'
  | 'extension'
  | 'too-costly'
  | 'business-rule'
  | 'conflict'
  | 'transient'
  | 'lock-error'
  | 'no-store'
  | 'exception'
  | 'timeout'
  | 'incomplete'
  | 'throttled'
  | 'informational'

/** One issue of an OperationOutcome, https://hl7.org/fhir/R4/operationoutcome.html */
export interface Issue {
  readonly severity: 'fatal' | 'error' | 'warning' | 'information'
  readonly code: IssueCode
  readonly diagnostics: string
  /** FHIRPath of the element that is wrong, e.g. `Patient.name[0].family`. */
  readonly expression?: readonly string[]
}

export interface ErrorExtras {
  /** Response headers, e.g. `allow` of a 405. */
  readonly headers?: Readonly<Record<string, string>>
  /** For the log only; never sent. */
  readonly detail?: unknown
  readonly expression?: readonly string[]
  /** Several issues instead of the one made from the message. */
  readonly issues?: readonly Issue[]
  readonly cause?: unknown
}

/** An error with an answer: thrown anywhere in a request, it becomes the status and the OperationOutcome. */
export class ServerError extends Error {
  readonly key: string
  readonly status: number
  readonly code: IssueCode
  extras: ErrorExtras = {}
  /** Set by the kernel when a tap threw: who is to blame. */
  plugin?: string
  hook?: string

  constructor(key: string, status: number, code: IssueCode, message: string) {
    super(message)
    this.name = 'ServerError'
    this.key = key
    this.status = status
    this.code = code
  }

  /** Adds headers, a FHIRPath expression, several issues, or a detail for the log. */
  with(extras: ErrorExtras): this {
    this.extras = { ...this.extras, ...extras }
    if (extras.cause !== undefined) this.cause = extras.cause
    return this
  }
}

/** A row of an error table: call it with the words of its template to get the error to throw. */
export interface ErrorKind {
  (...words: readonly (string | number)[]): ServerError
  /** `plugin/name-of-the-error`, stable. */
  readonly key: string
  readonly status: number
  readonly code: IssueCode
  readonly template: string
}

/** A message template (`%s` for words that were asked for) with its status and issue code. */
export const defineError = (key: string, status: number, code: IssueCode, template: string): ErrorKind =>
  Object.freeze(
    Object.assign(
      (...words: readonly (string | number)[]) => {
        const error = new ServerError(key, status, code, words.length === 0 ? template : format(template, ...words))
        return error
      },
      { key, status, code, template },
    ),
  )

// What goes wrong before a request exists stops the start; the CLI prints the message as one line.

export const ServiceTwice = defineError('kernel/service-twice', 500, 'exception', 'The service "%s" is provided twice.')
export const ServiceMissing = defineError(
  'kernel/service-missing',
  500,
  'exception',
  'No enabled plugin provides the service "%s".',
)
export const PluginUnloadable = defineError(
  'kernel/plugin-unloadable',
  500,
  'exception',
  'The plugin "%s" from [plugins] load cannot be loaded: %s',
)
export const PluginShape = defineError(
  'kernel/plugin-shape',
  500,
  'exception',
  'The plugin "%s" is not one: %s. Its default export must come from definePlugin({ name, setup }).',
)
export const PluginApi = defineError(
  'kernel/plugin-api',
  500,
  'exception',
  'The plugin "%s" was written for kernel API %s; this server has %s.',
)
export const PluginTwice = defineError('kernel/plugin-twice', 500, 'exception', 'Two plugins are named "%s".')
export const PluginNeeds = defineError(
  'kernel/plugin-needs',
  500,
  'exception',
  'The plugin "%s" needs the service "%s", which no enabled plugin provides.',
)
export const PluginCycle = defineError(
  'kernel/plugin-cycle',
  500,
  'exception',
  'The plugins need one another in a circle: %s.',
)
export const PluginSetup = defineError('kernel/plugin-setup', 500, 'exception', 'The plugin "%s" cannot be set up: %s')
export const PluginStart = defineError('kernel/plugin-start', 500, 'exception', 'The plugin "%s" cannot start: %s')
export const PluginRoutes = defineError(
  'kernel/plugin-routes',
  500,
  'exception',
  'The routes of the plugin "%s" cannot be mounted: %s',
)
export const PluginPromise = defineError(
  'kernel/plugin-promise',
  500,
  'exception',
  'The plugin "%s" promised the service "%s" and did not provide it in setup.',
)
export const LateTap = defineError(
  'kernel/late-tap',
  500,
  'exception',
  'The plugin "%s" taps the hook "%s" after setup; taps are taken in setup only.',
)
export const TapUnawaited = defineError(
  'kernel/tap-unawaited',
  500,
  'exception',
  'The plugin "%s" taps the hook "%s" with tap() and a function that returns a promise; %s.',
)
export const LateDeclaration = defineError(
  'kernel/late-declaration',
  500,
  'exception',
  'The plugin "%s" calls %s after setup; what a plugin adds is declared in setup only.',
)
export const NotFrozen = defineError(
  'kernel/not-frozen',
  500,
  'exception',
  'A hook was called before all plugins were set up; call run.* at request time only.',
)
export const PeerRange = defineError(
  'kernel/peer-range',
  500,
  'exception',
  '[server] trusted_proxy_peers: "%s" is not a network range; write 10.0.0.0/8 or 2001:db8::/32.',
)
export const StoppedEarly = defineError(
  'kernel/stopped-early',
  500,
  'exception',
  'The server was stopped before it was ready.',
)
export const WrongPhase = defineError('kernel/wrong-phase', 500, 'exception', 'The kernel cannot go from %s to %s.')

// What a request can run into before any plugin sees it.

export const Internal = defineError(
  'kernel/internal',
  500,
  'exception',
  'The server failed to process the request. The cause is in its log under this request id.',
)
export const NoSuchRoute = defineError('kernel/no-such-route', 404, 'not-found', 'There is nothing at this address.')
export const Starting = defineError(
  'kernel/starting',
  503,
  'transient',
  'The server is starting: %s. Try again when /readyz answers 200.',
)
export const NotStarted = defineError(
  'kernel/not-started',
  503,
  'exception',
  'The server could not start. The cause is in its log; start it again when that is mended.',
)
export const Stopping = defineError('kernel/stopping', 503, 'transient', 'The server is stopping.')
export const MalformedUrl = defineError('kernel/malformed-url', 400, 'value', 'The request URL is not well-formed.')
export const MalformedRequest = defineError(
  'kernel/malformed-request',
  400,
  'structure',
  'The request is not well-formed HTTP/1.1: %s.',
)
export const UrlTooLong = defineError(
  'kernel/url-too-long',
  414,
  'too-long',
  'The request URL is longer than %s bytes; send search parameters in the body of POST _search.',
)
export const HeadersTooLarge = defineError(
  'kernel/headers-too-large',
  431,
  'too-long',
  'The request header is larger than %s.',
)
export const BodyTooLarge = defineError(
  'kernel/body-too-large',
  413,
  'too-long',
  'The request body is larger than %s bytes.',
)
export const ChunkTooLarge = defineError(
  'kernel/chunk-too-large',
  413,
  'too-long',
  'The extensions of a chunk are larger than what they may hold; send none.',
)
export const BodyTimeout = defineError(
  'kernel/body-timeout',
  408,
  'timeout',
  'The request did not arrive completely within %s seconds.',
)
export const ExpectationUnknown = defineError(
  'kernel/expectation-unknown',
  417,
  'not-supported',
  'The header Expect asks for something other than 100-continue.',
)
export const MediaTypeRefused = defineError(
  'kernel/media-type-refused',
  415,
  'not-supported',
  'This address does not take a body of the given Content-Type.',
)
export const MethodRefused = defineError(
  'kernel/method-refused',
  405,
  'not-supported',
  '%s is not supported here; the Allow header lists what is.',
)

// Endpoints that show what the server knows of its use.

export const AdminParameterUnknown = defineError(
  'kernel/admin-parameter-unknown',
  400,
  'not-supported',
  '%s has no parameter "%s"; it takes %s.',
)
export const AdminParameter = defineError('kernel/admin-parameter', 400, 'value', 'The parameter %s takes %s.')
export const AdminFormat = defineError(
  'kernel/admin-format',
  406,
  'not-supported',
  'This address answers with %s; ask for one of them.',
)
export const AdminRestricted = defineError(
  'kernel/admin-restricted',
  403,
  'forbidden',
  'This address shows the doings of all callers; a caller who may see a part of the data only is not shown them.',
)
