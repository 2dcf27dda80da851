/** Every hook: its kind, its arguments, who calls it and what a return value means. One hook, one question. */
import type { Readable } from 'node:stream'
import { AsyncSeriesBailHook, AsyncSeriesHook, SyncBailHook, SyncHook } from 'tapable'
import type { Caller, Interaction, RequestContext } from './context.ts'
import type { AuditFact, Committed, Usage, Write } from './facts.ts'
import type { Ruling } from './ruling.ts'
import type { ServerError } from './server-error.ts'

/** An answer given in place of the server's own. */
export interface Reply {
  readonly status: number
  /** A list is sent as so many lines of the name: `{ 'set-cookie': ['a=1', 'b=2'] }`. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer | Readable
}

/** A refusal of `admit`: the error to answer with. */
export type Refusal = ServerError

/** A hook whose `tapPromise` takes taps that answer at once where they can: the request goes on synchronously then. */
type PromptHook<T extends unknown[], R> = Omit<AsyncSeriesBailHook<T, R>, 'tapPromise'> & {
  tapPromise(
    options: string | { readonly name: string; readonly stage?: number },
    fn: (...args: T) => Promise<R> | R,
  ): void
}

export const createHooks = () => ({
  /**
   * Called by the kernel before anything is decided, so also for what is refused because the server starts or stops. Set
   * headers of the answer, or return a Reply to answer; waits for nothing, and cannot refuse: what a tap throws is logged.
   */
  arrive: new SyncBailHook<[RequestContext], Reply | undefined>(['request'], 'arrive'),
  /** Called by the kernel once requests are taken, before the caller is known. Throw to refuse, return a Reply to answer. */
  beforeRequest: new AsyncSeriesBailHook<[RequestContext], Reply | undefined>(
    ['request'],
    'beforeRequest',
  ) as PromptHook<[RequestContext], Reply | undefined>,
  /**
   * Called by the kernel to find out who calls. The first Caller wins; without one the caller is anonymous, known by
   * address.
   */
  authenticate: new AsyncSeriesBailHook<[RequestContext], Caller | undefined>(
    ['request'],
    'authenticate',
  ) as PromptHook<[RequestContext], Caller | undefined>,
  /** Called by the kernel once per HTTP request, with the caller known: rate limit, quota. */
  admit: new AsyncSeriesBailHook<[RequestContext], Refusal | undefined>(['request'], 'admit') as PromptHook<
    [RequestContext],
    Refusal | undefined
  >,
  /**
   * Called by the kernel after `admit`, for requests that the route's `relay` concerns, before the body is parsed: a tap may answer with
   * another server's answer. The first Reply wins. A tap that takes `request.body` has to return one.
   */
  relay: new AsyncSeriesBailHook<[RequestContext], Reply | undefined>(['request'], 'relay'),
  /** Called once per interaction, so once per entry of a Bundle. A tap can refuse or narrow; it can never grant. */
  authorize: new AsyncSeriesHook<[RequestContext, Interaction, Ruling]>(
    ['request', 'interaction', 'ruling'],
    'authorize',
  ),
  /**
   * Called by the storage inside the transaction, with the previous version and the new one. A tap that throws rolls
   * the write back.
   */
  onWrite: new AsyncSeriesHook<[Write]>(['write'], 'onWrite'),
  /** Called after commit; too late to refuse. A throwing tap is logged and the next one runs. */
  onCommit: new SyncHook<[Committed]>(['committed'], 'onCommit'),
  /**
   * Called with one fact for the audit trail; for a change inside its transaction, so that both are stored or neither.
   */
  onAudit: new AsyncSeriesHook<[AuditFact]>(['fact'], 'onAudit'),
  /** Called after the last byte. Counts in memory: never awaits, never throws. */
  meter: new SyncHook<[Usage]>(['usage'], 'meter'),
})

export type Hooks = ReturnType<typeof createHooks>
export type HookName = keyof Hooks
