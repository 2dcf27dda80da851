/** beforeRequest → authenticate → admit: at once when nothing has to be waited for. */
import { ANONYMOUS, type Caller, type RequestContext } from './context.ts'
import type { Runners } from './freeze.ts'
import type { Refusal, Reply } from './hooks.ts'

/** Gives the answer of a plugin, if there is one; throws, or rejects with, the refusal. */
export type PassHooks = (ctx: RequestContext) => Promise<Reply | undefined> | Reply | undefined

/** Null when none of them is tapped. */
export const createPassHooks = ({ beforeRequest, authenticate, admit }: Runners): PassHooks | null => {
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
  return (ctx) => {
    if (beforeRequest === null) return identify(ctx)
    const answer = beforeRequest(ctx)
    if (answer instanceof Promise) return answer.then((one) => one ?? identify(ctx))
    return answer ?? identify(ctx)
  }
}
