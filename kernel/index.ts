/** The kernel's public face: the only file outsiders import. */
export { addLines } from './add-lines.ts'
export { type AdminAnswer, type AdminEndpoint, authorizeAdmin, mountAdmin } from './admin.ts'
export { checkParameters, linkWith, readAdminClass, readAdminNumber, readAdminQuery } from './admin-query.ts'
export { BUILD } from './build.ts'
export { type Clock, type Random, systemClock, systemRandom } from './clock.ts'
export { type CommandContext, commandContext, type Output } from './command.ts'
export {
  ANONYMOUS,
  type Caller,
  type Interaction,
  type InteractionKind,
  REQUEST_CLASSES,
  type Relayed,
  type RequestClass,
  RequestContext,
} from './context.ts'
export { counted } from './counted.ts'
export { createKernel } from './create-kernel.ts'
export { defineError, type ErrorKind } from './define-error.ts'
export type { PluginDescription } from './describe.ts'
export type { DirectAnswer } from './direct-answer.ts'
export { type DirectRoute, sendAnswer } from './direct-router.ts'
export {
  AdminFormat,
  AdminParameter,
  BodyTooLarge,
  MediaTypeRefused,
  MethodRefused,
  NoSuchRoute,
  RestrictionMalformed,
} from './errors.ts'
export { errorsFirst } from './errors-first.ts'
export { every, type Repeating } from './every.ts'
export type {
  AuditFact,
  Committed,
  FactDetails,
  Registered,
  ResourceVersion,
  Usage,
  Write,
  WriteTransaction,
} from './facts.ts'
export type { Failure } from './failure.ts'
export type { Runners } from './freeze.ts'
export type { Gate } from './gates.ts'
export type { Hooks, Refusal, Reply } from './hooks.ts'
export { httpModule } from './http-module.ts'
export { indentJson, indentJsonInTurns } from './indent-json.ts'
export type { Issue, IssueCode } from './issue.ts'
export type { Kernel } from './kernel.ts'
export { KERNEL_API } from './kernel-api.ts'
export type { KernelOptions } from './kernel-options.ts'
export { CLIENT_LEFT } from './leave-signal.ts'
export type { Logger, LogOptions } from './log.ts'
export {
  createMemoryBudget,
  type MemoryBudget,
  memoryLimit,
  THREAD_LIMITS,
  threadHeapMegabytes,
} from './memory-budget.ts'
export { type OperationOutcome, toIssues, toOutcome, toServerError } from './outcome.ts'
export { type OwnUrl, toOwnUrl } from './own-url.ts'
export { createPause } from './pause.ts'
export type { Phase } from './phase.ts'
export {
  type AnyPlugin,
  type Config,
  definePlugin,
  type Host,
  type Lifecycle,
  type Plugin,
  type RouteOptions,
  type SchemaChange,
  type Sections,
} from './plugin.ts'
export type { JsonAnswer, Presentation, PresentedAnswer } from './presentation.ts'
export { type ProgressLine, type ProgressStep, progressLine } from './progress-line.ts'
export type { RawBody } from './raw-body.ts'
export type { Readiness } from './readiness.ts'
export {
  ALL,
  type Compartment,
  type Extent,
  extentOf,
  type Grant,
  grantsOf,
  type Restriction,
  type Right,
  type Rights,
} from './restriction.ts'
export type { RouteConfig } from './route-config.ts'
export type { ListedRoute } from './route-list.ts'
export { Ruling } from './ruling.ts'
export { type ErrorExtras, isServerError, ServerError } from './server-error.ts'
export type { ServerRequest } from './server-request.ts'
export { defineService, type Service } from './services.ts'
export { Type } from './settings/type.ts'
export { isSpecialAddress } from './special-address.ts'
export type { Upgrade } from './upgrades.ts'
export type { TapFunction, WatchedTap, WatchTap } from './watch-tap.ts'
export { asksForWebSocket } from './websocket-head.ts'
export { withArticle } from './with-article.ts'
export { withVary } from './with-vary.ts'
export { workerUrl } from './worker-url.ts'
