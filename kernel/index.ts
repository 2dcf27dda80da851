/** The kernel's public face: the only file outsiders import. */
export { type AdminAnswer, type AdminEndpoint, mountAdmin } from './admin.ts'
export { linkWith, readAdminClass, readAdminNumber, readAdminQuery } from './admin-query.ts'
export { BUILD } from './build.ts'
export { type Clock, type Random, systemClock, systemRandom } from './clock.ts'
export { type CommandContext, commandContext, type Output } from './command.ts'
export {
  ANONYMOUS,
  type Caller,
  type Interaction,
  type InteractionKind,
  REQUEST_CLASSES,
  type RequestClass,
  RequestContext,
} from './context.ts'
export type { PluginDescription } from './describe.ts'
export { type DirectAnswer, type DirectRoute, sendAnswer } from './direct.ts'
export {
  AdminFormat,
  AdminParameter,
  BodyTooLarge,
  defineError,
  type ErrorExtras,
  type ErrorKind,
  type Issue,
  type IssueCode,
  MediaTypeRefused,
  MethodRefused,
  NoSuchRoute,
  ServerError,
} from './errors.ts'
export { every, type Repeating } from './every.ts'
export type { AuditFact, Committed, FactDetails, ResourceVersion, Usage, Write } from './facts.ts'
export type { Runners } from './freeze.ts'
export type { Hooks, Refusal, Reply } from './hooks.ts'
export { createKernel, isServerError, type Kernel, type KernelOptions } from './kernel.ts'
export { addLines, type Logger, type LogOptions } from './log.ts'
export { type OperationOutcome, toIssues, toOutcome, toServerError } from './outcome.ts'
export type { Phase } from './phase.ts'
export {
  type AnyPlugin,
  type Config,
  definePlugin,
  type Host,
  KERNEL_API,
  type Lifecycle,
  type Plugin,
  type RouteOptions,
  type SchemaChange,
  type Sections,
} from './plugin.ts'
export type { Readiness } from './readiness.ts'
export { type Compartment, type Condition, type Restriction, Ruling } from './ruling.ts'
export { defineService, type Service } from './services.ts'
