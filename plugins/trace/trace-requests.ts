/** Begins a trace where a request asks for one, keeps it where its caller may have it, and ends it with the answer. */
import type { Clock, Hooks, Random, RequestContext, Runners } from '../../kernel/index.ts'
import { TraceHeader } from './errors.ts'
import type { KeptTraces } from './kept-traces.ts'
import { checkMayTrace } from './may-trace.ts'
import type { OpenTraces } from './open-traces.ts'
import { summarizeRuling } from './summarize-ruling.ts'
import { Trace } from './trace.ts'

const FIRST = Number.MIN_SAFE_INTEGER
const LAST = Number.MAX_SAFE_INTEGER - 1 // in front of the check of restrictions

export interface TraceRequestsParts {
  readonly hooks: Hooks
  readonly run: Runners
  readonly traces: OpenTraces
  readonly kept: KeptTraces
  readonly clock: Clock
  readonly random: Random
  /** Undefined where no endpoint is set: then only requests that ask for it are traced. */
  readonly send: ((trace: Trace) => void) | undefined
}

export const traceRequests = ({ hooks, run, traces, kept, clock, random, send }: TraceRequestsParts): void => {
  hooks.arrive.tap({ name: 'begin', stage: FIRST }, (request) => {
    const isTraced = send !== undefined || request.headers['x-trace'] !== undefined
    const trace = isTraced ? new Trace({ id: random.id(), request, now: () => clock.monotonic() }) : undefined
    traces.enter(request, trace)
    return undefined
  })
  const keep = (request: RequestContext, trace: Trace): undefined => {
    trace.client = request.caller.client
    kept.add(trace)
    request.setHeader('x-trace-id', trace.id)
  }
  // Behind all others: one who is refused by them anyway is not told of traces.
  hooks.admit.tapPromise({ name: 'keep', stage: LAST }, (request) => {
    const trace = traces.of(request)
    const asked = request.headers['x-trace']
    if (trace === undefined || asked === undefined) return undefined
    if (asked !== '1') return TraceHeader()
    const checked = checkMayTrace(run, request)
    return checked instanceof Promise ? checked.then(() => keep(request, trace)) : keep(request, trace)
  })
  // A body arrives in the context of its connection; what follows belongs to the request again.
  hooks.authorize.tap({ name: 'enter', stage: FIRST }, (request) => {
    if (request.origin === 'http') traces.enter(request)
  })
  hooks.authorize.tap({ name: 'note', stage: LAST }, (request, interaction, { restrictions }) => {
    traces.of(request)?.note('ruling', summarizeRuling(interaction, restrictions))
  })
  hooks.meter.tap('end', ({ request, status, duration, relayed }) => {
    const trace = traces.of(request)
    if (trace === undefined) return
    trace.close(status, duration)
    send?.(trace)
    // The other server has answered, and its answer names its own trace.
    if (relayed === 'sent') kept.remove(trace)
  })
}
