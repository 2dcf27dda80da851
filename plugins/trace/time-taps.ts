/** Makes each tap of another plugin a step of the trace of its request. */
import { RequestContext, Ruling, type WatchTap } from '../../kernel/index.ts'
import type { OpenTraces } from './open-traces.ts'

/** The request is what a hook is about, or a member of that. */
const requestOf = (about: unknown): RequestContext | undefined => {
  if (about instanceof RequestContext) return about
  const { request } = about as { readonly request?: unknown }
  return request instanceof RequestContext ? request : undefined
}

export const timeTaps =
  (traces: OpenTraces, own: string): WatchTap =>
  ({ hook, plugin, name }, fn) => {
    if (plugin === own) return fn
    const details = { hook, plugin, tap: name }
    return (a, b, c) => {
      const request = requestOf(a)
      const trace = request === undefined ? undefined : traces.of(request)
      if (trace === undefined) return fn(a, b, c)
      if (!(c instanceof Ruling)) return trace.time('tap', details, () => fn(a, b, c))
      const before = c.restrictions.length
      return trace.time(
        'tap',
        details,
        () => fn(a, b, c),
        () => ({ restrictions: c.restrictions.length - before }),
      )
    }
  }
