/**
 * X-Snapshot: an answer to a change says which state has the change, and a read that sends it back is answered from that
 * state or a newer one.
 */
import type { KeyObject } from 'node:crypto'
import type { Clock, Committed, RequestContext } from '../../../kernel/index.ts'
import { SNAPSHOT_HEADER } from '../../fhir/service.ts'
import { SnapshotAhead, SnapshotGone, SnapshotMalformed } from './errors.ts'
import { covers, type Epoch, type Snapshot, type SnapshotSource } from './snapshot-source.ts'
import { makeToken, readToken } from './snapshot-token.ts'

const WAIT_MS = 200 // milliseconds that a read waits here before it is sent on

export interface ReadYourWritesParts {
  readonly source: SnapshotSource
  /** Known once the database is open. */
  readonly key: () => KeyObject
  readonly clock: Clock
}

export interface ReadYourWrites {
  /** Sets the header of an answer: the newest state that this server shows. */
  announce(request: RequestContext): void
  /** The same for a change, once it is committed. */
  announceChange(committed: Committed): void
  /** On the primary: throws SnapshotMalformed, SnapshotGone or SnapshotAhead for what its newest state does not cover. */
  check(request: RequestContext): Promise<undefined> | undefined
  /** On a replica: false where the request has to be sent on. Throws SnapshotMalformed or SnapshotGone. */
  reach(request: RequestContext): Promise<boolean>
}

/** Throws SnapshotGone for commits of an epoch that were lost. */
const checkLasted = ({ seq }: Snapshot, { lastSeq }: Epoch): void => {
  if (lastSeq !== undefined && seq > lastSeq) throw SnapshotGone()
}

export const createReadYourWrites = ({ source, key, clock }: ReadYourWritesParts): ReadYourWrites => {
  let made: { readonly snapshot: Snapshot; readonly text: string } | undefined
  let term: { readonly epoch: number; readonly text: string } | undefined

  /** Undefined until the term of the epoch is known: an answer without the header promises nothing. */
  const textOf = (snapshot: Snapshot): string | undefined => {
    const { epoch, seq } = snapshot
    if (made?.snapshot.seq === seq && made.snapshot.epoch === epoch) return made.text
    if (term?.epoch !== epoch) {
      const known = source.epochOf(epoch)
      if (known instanceof Promise) {
        known.then((one) => remember(epoch, one)).catch(() => undefined)
        return undefined
      }
      remember(epoch, known)
    }
    if (term?.epoch !== epoch) return undefined
    made = { snapshot, text: makeToken(key(), snapshot, term.text) }
    return made.text
  }
  const remember = (epoch: number, known: Epoch | undefined): void => {
    if (known !== undefined) term = { epoch, text: known.term }
  }
  const announce = (request: RequestContext): void => {
    const { current } = source
    const text = current && textOf(current)
    if (text !== undefined) request.setHeader(SNAPSHOT_HEADER, text)
  }

  /** Throws SnapshotMalformed or SnapshotGone. `then` is called at once where the epoch is known at once. */
  const readGiven = <T>(given: string | readonly string[], then: (snapshot: Snapshot) => T): T | Promise<T> => {
    const token = typeof given === 'string' ? readToken(given) : undefined
    if (token === undefined) throw SnapshotMalformed()
    const { snapshot } = token
    const judge = (epoch: Epoch | undefined): T => {
      if (epoch === undefined || !token.isOf(key(), epoch.term)) throw SnapshotGone()
      checkLasted(snapshot, epoch)
      return then(snapshot)
    }
    const epoch = source.epochOf(snapshot.epoch)
    return epoch instanceof Promise ? epoch.then(judge) : judge(epoch)
  }
  const isReached = (snapshot: Snapshot): boolean => source.current !== undefined && covers(source.current, snapshot)

  const wait = async (snapshot: Snapshot, request: RequestContext): Promise<boolean> => {
    const late = AbortSignal.any([clock.deadline(WAIT_MS), request.signal])
    while (!late.aborted) {
      await source.changed(late)
      if (isReached(snapshot)) return true
    }
    return false
  }

  return {
    announce,
    announceChange: ({ request }) => announce(request),
    check({ headers }) {
      const given = headers[SNAPSHOT_HEADER]
      if (given === undefined) return undefined
      return readGiven(given, (snapshot) => {
        if (!isReached(snapshot)) throw SnapshotAhead()
        return undefined
      })
    },
    async reach(request) {
      const given = request.headers[SNAPSHOT_HEADER]
      if (given === undefined) return true
      const snapshot = await readGiven(given, (one) => one)
      if (isReached(snapshot)) return true
      // Where the database does not answer, the primary may.
      await source.look(snapshot).catch(() => undefined)
      return isReached(snapshot) || (await wait(snapshot, request))
    },
  }
}
