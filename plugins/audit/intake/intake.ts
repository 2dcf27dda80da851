/** Passes facts to the audit trail: those of changes in their transaction, all others through the queue. */
import { type AuditFact, CLIENT_LEFT, type Clock, type RequestContext, type Usage } from '../../../kernel/index.ts'
import type { EventKind, TrailEvent } from '../event.ts'
import type { Trail } from '../trail/trail.ts'
import { eventOf, eventOfRefusal } from './event-of.ts'
import type { EventQueue } from './queue.ts'
import type { AnonymousRefusalThrottle } from './refusal-throttle.ts'

const FIRST_REFUSAL = 400
const SUMMARY_MS = 1_000

const READS: ReadonlySet<EventKind> = new Set([
  'read',
  'vread',
  'history-instance',
  'history-type',
  'history-system',
  'search-type',
  'search-system',
  'capabilities',
])

/** An operation called with GET changes nothing. https://hl7.org/fhir/R4/operations.html#executing */
const isRead = ({ interaction, request }: AuditFact): boolean =>
  READS.has(interaction.kind) || (interaction.kind === 'operation' && request.method === 'GET')

export interface Intake {
  record(fact: AuditFact): void
  /** Called after the answer: records a refusal for which there was no fact. */
  used(usage: Usage): void
  /** Resolves when everything recorded before is written. */
  flush(): Promise<void>
  /** Queues what is only counted yet: at a stop, after which nothing is recorded. */
  queueCounts(): void
}

export interface IntakeParts {
  readonly trail: Trail
  readonly queue: EventQueue
  readonly sampler: AnonymousRefusalThrottle
  /** [audit] reads, include_query */
  readonly reads: boolean
  readonly includeQuery: boolean
  readonly clock: Clock
}

export const createIntake = ({ trail, queue, sampler, reads, includeQuery, clock }: IntakeParts): Intake => {
  const recorded = new WeakSet<RequestContext>()
  let isSummaryDue = false

  const queueCounts = (): void => {
    const events: TrailEvent[] = []
    for (const [status, number] of sampler.take()) events.push({ at: clock.now(), kind: 'sampled', status, number })
    queue.pushCounts(events)
  }
  const summarise = (): void => {
    if (queue.isFull) summariseSoon()
    else queueCounts()
  }
  const summariseSoon = (): void => {
    if (isSummaryDue) return
    isSummaryDue = true
    clock.deadline(SUMMARY_MS).addEventListener('abort', () => {
      isSummaryDue = false
      summarise()
    })
  }
  /** Throws TrailBusy when the queue is full; then nothing is recorded. */
  const refuse = (request: RequestContext, status: number, event: () => TrailEvent): void => {
    if (request.caller.kind !== 'anonymous' || sampler.admits(clock.now(), status)) queue.push(event())
    else summariseSoon()
    recorded.add(request)
  }

  return {
    record(fact) {
      const { status, transaction, request } = fact
      if (status >= FIRST_REFUSAL) {
        refuse(request, status, () => eventOf(fact, includeQuery))
        return
      }
      if (!reads && isRead(fact)) return
      const event = eventOf(fact, includeQuery)
      if (transaction === undefined) queue.push(event)
      else trail.append(transaction, event)
    },
    used({ request, status, relayed }) {
      // The fact of its interaction comes, or has come.
      if (status === CLIENT_LEFT && request.hasInteraction) return
      // The server that answered has recorded its refusals.
      if (status < FIRST_REFUSAL || relayed === 'sent' || recorded.has(request)) return
      if (!queue.isFull) return refuse(request, status, () => eventOfRefusal(request, status))
      // The answer is given, so it cannot be refused for want of an event.
      sampler.count(status)
      summariseSoon()
    },
    async flush() {
      if (queue.isFull) await queue.flush()
      summarise()
      await queue.flush()
    },
    queueCounts,
  }
}
