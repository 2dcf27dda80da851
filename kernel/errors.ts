/** The kernel's own errors. */
import { defineError } from './define-error.ts'

export * from './relay-errors.ts'

// Errors before there are requests: they stop the start, and the CLI prints the message as one line.

export const ServiceTwice = defineError('kernel/service-twice', 500, 'exception', 'The service "%s" is provided twice.')
export const DecoratedLate = defineError(
  'kernel/decorated-late',
  500,
  'exception',
  'The service "%s" is decorated after it was provided; list the plugin that decorates it in front.',
)
export const ServiceProviders = defineError(
  'kernel/service-providers',
  500,
  'exception',
  'The plugins "%s" and "%s" both provide the service "%s"; disable one of them.',
)
export const ServiceForeign = defineError(
  'kernel/service-foreign',
  500,
  'exception',
  'The plugin "%s" provides the service "%s"; the name of its service begins with its own name: "%s".',
)
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
  'The plugin "%s" was written for kernel API %s; this server has %s. CONTRIBUTING.md says under "From 1 to 2" what has changed.',
)
export const PluginCopy = defineError(
  'kernel/plugin-copy',
  500,
  'exception',
  'The plugin "%s" was made with kernel API %s (a copy of refhir of its own); this server has %s. Update it, and list refhir under peerDependencies.',
)
export const TokenCopy = defineError(
  'kernel/token-copy',
  500,
  'exception',
  'The plugin "%s" declares the service "%s", whose token was made with kernel API %s (another copy of refhir); this server has %s. Update the package of the token, and list refhir under its peerDependencies.',
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
export const ServiceEarly = defineError(
  'kernel/service-early',
  500,
  'exception',
  'The plugin "%s" asks for the service "%s" in its setup; what later() gives is good once all plugins are set up.',
)
export const ServerPurpose = defineError(
  'kernel/server-purpose',
  500,
  'exception',
  'The plugin "%s" makes a request of the server for a purpose that is none: 1 to 64 letters, digits, dots, hyphens or underscores.',
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
export const PluginPrepare = defineError(
  'kernel/plugin-prepare',
  500,
  'exception',
  'The plugin "%s" cannot prepare its start: %s',
)
export const GateUnclear = defineError(
  'kernel/gate-unclear',
  500,
  'exception',
  'The gate of the plugin "%s" gave neither a refusal nor undefined; nobody is let through.',
)
export const AddressLate = defineError(
  'kernel/address-late',
  500,
  'exception',
  'The address of a request is set in beforeRequest only: later hooks have judged by it.',
)
export const AddressMalformed = defineError(
  'kernel/address-malformed',
  500,
  'exception',
  'The address of a request is set to something that is no IP address.',
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

// Errors of a request before any plugin sees it.

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
export const Failed = defineError(
  'kernel/failed',
  503,
  'exception',
  'The server has failed and takes no more requests. The cause is in its log.',
)
export const Stopping = defineError('kernel/stopping', 503, 'transient', 'The server is stopping.')
export const MalformedUrl = defineError('kernel/malformed-url', 400, 'value', 'The request URL is not well-formed.')
export const MalformedRequest = defineError(
  'kernel/malformed-request',
  400,
  'structure',
  'The request is not well-formed HTTP/1.1: %s.',
)
export const BodyNotJson = defineError('kernel/body-not-json', 400, 'structure', 'The request body is not valid JSON.')
export const SchemaNotMet = defineError(
  'kernel/schema-not-met',
  400,
  'invalid',
  'The request does not meet the schema of this address: %s.',
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
export const ClientLeft = defineError(
  'kernel/client-left',
  503,
  'incomplete',
  'The client left before its request had arrived.',
)
export const UpgradeRequired = defineError(
  'kernel/upgrade-required',
  426,
  'not-supported',
  'This address takes WebSockets of version 13; ask for one with Upgrade: websocket.',
)
export const UpgradeRefused = defineError(
  'kernel/upgrade-refused',
  400,
  'not-supported',
  'The header Upgrade asks for something other than a WebSocket, and the request has a body. Send it without that header.',
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

// Errors of endpoints such as `/_usage`.

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
export const RestrictionMalformed = defineError(
  'kernel/restriction-malformed',
  500,
  'exception',
  'A plugin limits access in a form this server does not understand, so nothing is shown. The log of the server says what is wrong.',
)
export const AdminRestricted = defineError(
  'kernel/admin-restricted',
  403,
  'forbidden',
  'This address shows the doings of all callers; a caller who may see a part of the data only is not shown them.',
)
