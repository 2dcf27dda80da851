/**
 * The view and the request with which a session acts. The runners of the view authorize and audit for the session's
 * caller; all other code is that of HTTP.
 */
import type { RequestContext, Restriction, Runners, ServerRequest } from '../../../kernel/index.ts'
import { createNameCheck } from '../../search/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { type View, withRun } from '../view.ts'
import { SessionWho } from './errors.ts'
import type { Who } from './session.ts'

/** The view and the request of one call. */
export interface Opened {
  readonly view: View
  readonly request: RequestContext
}

export interface Seat {
  /** For a call that reads. */
  open(): Opened
  openToChange(): Opened
  /** When the fact of a stream is emitted: for each page, once for the whole stream, or not at all. */
  readonly streams: 'each page' | 'once' | 'not'
  /** Reports the versions that were read, when another fact names their patients. */
  readonly shown?: (versions: readonly StoredVersion[]) => void
}

export interface SeatParts {
  /** The view of the started server. */
  readonly view: () => View
  readonly request: (given: ServerRequest) => RequestContext
  /** Apply to stored callers beside what was stored with them, which may be older than the settings in force. */
  readonly standing: readonly Restriction[]
}

/**
 * Replaces the `authorize` taps: applies these restrictions, then calls `check`, which throws for names that the server
 * does not know. Over HTTP the last tap makes that check.
 */
const applying =
  (
    restrictions: readonly Restriction[],
    check?: (restrictions: readonly Restriction[]) => void,
  ): Runners['authorize'] =>
  (_request, _interaction, ruling) => {
    for (const one of restrictions) ruling.restrict(one)
    check?.(restrictions)
  }

/** Throws 500 for an unknown kind of `who`. */
export const createSeat = ({ view, request, standing }: SeatParts, who: Who): Seat => {
  if (!('kind' in who)) {
    const open = (): Opened => ({ view: view(), request: who })
    return { open, openToChange: open, streams: 'each page' }
  }
  const { kind, purpose, baseUrl, signal } = who
  if (kind === 'stored') {
    const { caller, restrictions, updateAsCreate } = who
    const authorize = applying(
      [...restrictions, ...standing],
      createNameCheck(() => view().search.view),
    )
    const open = (): Opened => ({
      view: { ...withRun(view(), { authorize }), updateAsCreate },
      request: request({ caller, purpose, baseUrl, signal }),
    })
    return { open, openToChange: open, streams: 'once' }
  }
  if (kind !== 'internal') throw SessionWho()
  const { updateAsCreate, readsMayWait } = who
  const openWith = (run: Partial<Runners>): Opened => ({
    view: { ...withRun(view(), run), updateAsCreate, readsMayWait },
    request: request({ caller: { kind }, purpose, baseUrl, signal }),
  })
  return {
    open: () => openWith({ authorize: null, onAudit: null }),
    openToChange: () => openWith({ authorize: null }),
    streams: 'not',
  }
}

/**
 * The seat of an invocation, which was authorized as a whole and emits one fact. `view` may be that of a transaction.
 */
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
