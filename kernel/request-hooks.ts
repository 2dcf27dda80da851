/**
 * Calls beforeRequest → authenticate → admit, synchronously when no tap returns a promise; after them, for routes that
 * have it, relay.
 */
import type { IncomingMessage } from 'node:http'
import { ANONYMOUS, type Caller, type RequestContext, steps } from './context.ts'
import type { Runners } from './freeze.ts'
import type { Refusal, Reply } from './hooks.ts'
import { openBody } from './raw-body.ts'
import type { RouteConfig } from './route-config.ts'

/** Returns the Reply of a plugin, if there is one; throws, or rejects with, the refusal. */
export type RequestHooks = (ctx: RequestContext) => Promise<Reply | undefined> | Reply | undefined

/** Null when none of them is tapped. */
export const createRequestHooks = ({ beforeRequest, authenticate, admit }: Runners): RequestHooks | null => {
  if (beforeRequest === null && authenticate === null && admit === null) return null

  const refuse = (refusal: Refusal | undefined): undefined => {
    if (refusal !== undefined) throw refusal
  }
  const ask = (ctx: RequestContext): Promise<undefined> | undefined => {
    if (admit === null) return undefined
    const refusal = admit(ctx)
    return refusal instanceof Promise ? refusal.then(refuse) : refuse(refusal)
  }
  const identify = (ctx: RequestContext): Promise<undefined> | undefined => {
    if (authenticate === null) return ask(ctx)
    const known = (caller: Caller | undefined): Promise<undefined> | undefined => {
      ctx.caller = caller ?? ANONYMOUS
      return ask(ctx)
    }
    const caller = authenticate(ctx)
    return caller instanceof Promise ? caller.then(known) : known(caller)
  }
  if (beforeRequest === null) return identify
  return (ctx) => {
    steps.openAddress(ctx, true)
    const answer = beforeRequest(ctx)
    const next = (one: Reply | undefined): ReturnType<RequestHooks> => {
      steps.openAddress(ctx, false)
      return one ?? identify(ctx)
    }
    return answer instanceof Promise ? answer.then(next) : next(answer)
  }
}

/** Returns the Reply of a plugin in place of the route's answer, if there is one; called before the body is parsed. */
export type AskRelay = (
  ctx: RequestContext,
  raw: IncomingMessage,
  before: RouteConfig['beforeRelay'],
) => Promise<Reply | undefined>

/** Null when nobody taps `relay`. */
export const createAskRelay = ({ relay }: Runners): AskRelay | null => {
  if (relay === null) return null
  return async (ctx, raw, before) => {
    await before?.()
    const body = openBody(raw)
    steps.giveBody(ctx, body)
    steps.openRelay(ctx, true)
    try {
      return await relay(ctx)
    } finally {
      body?.close()
      steps.giveBody(ctx, undefined)
      steps.openRelay(ctx, false)
    }
  }
}
