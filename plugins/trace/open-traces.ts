/**
 * Which trace a piece of work belongs to: hooks name their request, everything else is found by the asynchronous context. Each
 * kernel has its own.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { RequestContext } from '../../kernel/index.ts'
import type { Trace } from './trace.ts'

export interface OpenTraces {
  /** Begins a context, also one without a trace: a connection may have served a traced request before. */
  enter(request: RequestContext, trace?: Trace): void
  /** The trace of a request, while it is not answered. */
  of(request: RequestContext): Trace | undefined
  /** That of the work being done. */
  current(): Trace | undefined
  /** Runs the work of one request inside that of another, as transactions that share a commit do. */
  run<T>(trace: Trace | undefined, work: () => T): T
}

export const createOpenTraces = (): OpenTraces => {
  const context = new AsyncLocalStorage<Trace | undefined>()
  const traces = new WeakMap<RequestContext, Trace>()
  const open = (trace: Trace | undefined): Trace | undefined => (trace?.isOpen === true ? trace : undefined)
  const of = (request: RequestContext): Trace | undefined => open(traces.get(request))
  return {
    enter(request, trace) {
      if (trace !== undefined) traces.set(request, trace)
      context.enterWith(of(request))
    },
    of,
    current: () => open(context.getStore()),
    run: (trace, work) => context.run(trace, work),
  }
}
