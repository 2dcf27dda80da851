/**
 * From where a session acts: a view that is ruled and told for this session's caller, and a request. All calls
 * take the interactions of HTTP and their one dispatch; only the runners differ.
 */
import type { RequestContext, Restriction, Runners, ServerRequest } from '../../../kernel/index.ts'
import { createNameCheck } from '../../search/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { type View, withRun } from '../view.ts'
import { SessionWho } from './errors.ts'
import type { Who } from './session.ts'

/** One call. */
export interface Opened {
  readonly view: View
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
  /** Once the server has started. */
  readonly view: () => View
  readonly request: (given: ServerRequest) => RequestContext
}

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
export const createSeat = ({ view, request }: SeatParts, who: Who): Seat => {
  if (!('kind' in who)) {
    const open = (): Opened => ({ view: view(), request: who })
    return { open, openToChange: open, streams: 'each page' }
  }
  const { kind, purpose, baseUrl, signal } = who
  if (kind === 'stored') {
    const { caller, restrictions } = who
    const authorize = applying(
      restrictions,
      createNameCheck(() => view().search.view),
    )
    const open = (): Opened => ({
      view: withRun(view(), { authorize }),
      request: request({ caller, purpose, baseUrl, signal }),
    })
    return { open, openToChange: open, streams: 'once' }
  }
  if (kind !== 'internal') throw SessionWho()
  const openWith = (run: Partial<Runners>): Opened => ({
    view: withRun(view(), run),
    request: request({ caller: { kind }, purpose, baseUrl, signal }),
  })
  return {
    open: () => openWith({ authorize: null, onAudit: null }),
    openToChange: () => openWith({ authorize: null }),
    streams: 'not',
  }
}

/** That of an invocation, which was ruled on and is told as a whole. `view` may be that of a transaction. */
export const invokedSeat = (
  view: View,
  request: RequestContext,
  restrictions: readonly Restriction[],
  shown: (versions: readonly StoredVersion[]) => void,
): Seat => {
  const opened: Opened = {
    view: withRun(view, { authorize: restrictions.length === 0 ? null : applying(restrictions), onAudit: null }),
    request,
  }
  return { open: () => opened, openToChange: () => opened, streams: 'not', shown }
}
