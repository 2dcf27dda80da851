/**
 * From where a session acts: the server as it is to be ruled and told for this session's caller, and a request. All calls
 * take the interactions of HTTP and their one dispatch; only the runners differ.
 */
import type { RequestContext, Restriction, Runners, ServerRequest } from '../../../kernel/index.ts'
import { createNameCheck } from '../../search/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { FhirServer } from '../parts.ts'
import { SessionWho } from './errors.ts'
import type { Who } from './session.ts'

/** One call. */
export interface Opened {
  readonly server: FhirServer
  readonly request: RequestContext
}

export interface Seat {
  /** To read. */
  open(): Opened
  openToChange(): Opened
  /** The trail is told of each page of a stream, of a stream once, or not. */
  readonly streams: 'each page' | 'once' | 'not'
  /** Where another fact tells of what was shown. */
  readonly shown?: (versions: readonly StoredVersion[]) => void
}

export interface SeatParts {
  readonly server: () => FhirServer
  readonly request: (given: ServerRequest) => RequestContext
}

const withRun = (server: FhirServer, run: Partial<Runners>): FhirServer => ({
  ...server,
  run: { ...server.run, ...run },
})

/** In place of the taps. `check` is what the server does behind them. */
const applying =
  (
    restrictions: readonly Restriction[],
    check?: (restrictions: readonly Restriction[]) => void,
  ): Runners['authorize'] =>
  (_request, _interaction, ruling) => {
    for (const one of restrictions) ruling.restrict(one)
    check?.(restrictions)
  }

/** Throws 500 for who is none of those there are. */
export const createSeat = ({ server, request }: SeatParts, who: Who): Seat => {
  if (!('kind' in who)) {
    const open = (): Opened => ({ server: server(), request: who })
    return { open, openToChange: open, streams: 'each page' }
  }
  const { kind, purpose, baseUrl, signal } = who
  if (kind === 'stored') {
    const { caller, restrictions } = who
    const authorize = applying(restrictions, createNameCheck(server))
    const open = (): Opened => ({
      server: withRun(server(), { authorize }),
      request: request({ caller, purpose, baseUrl, signal }),
    })
    return { open, openToChange: open, streams: 'once' }
  }
  if (kind !== 'internal') throw SessionWho()
  const openWith = (run: Partial<Runners>): Opened => ({
    server: withRun(server(), run),
    request: request({ caller: { kind }, purpose, baseUrl, signal }),
  })
  return {
    open: () => openWith({ authorize: null, onAudit: null }),
    openToChange: () => openWith({ authorize: null }),
    streams: 'not',
  }
}

/** That of an invocation, which was ruled on and is told as a whole. `server` may be one inside a transaction. */
export const invokedSeat = (
  server: FhirServer,
  request: RequestContext,
  restrictions: readonly Restriction[],
  shown: (versions: readonly StoredVersion[]) => void,
): Seat => {
  const opened: Opened = {
    server: withRun(server, { authorize: restrictions.length === 0 ? null : applying(restrictions), onAudit: null }),
    request,
  }
  return { open: () => opened, openToChange: () => opened, streams: 'not', shown }
}
