/** Performs a transaction Bundle of a session, by the code that performs one sent over HTTP. */
import type { PerformBundle } from '../bundle/batch.ts'
import { readBundleRequest, readLargeEnvelope } from '../bundle/bundle-request.ts'
import { BundleExpected } from '../bundle/errors.ts'
import { authorize, emitRefused } from '../dispatch.ts'
import type { LargeBodies } from '../large/large-bodies.ts'
import type { Seat } from './seat.ts'
import type { Session } from './session.ts'

export interface SessionTransactionParts {
  readonly large: Pick<LargeBodies, 'concerns' | 'read'>
  readonly transaction: PerformBundle
}

const HEADERS = { prefer: 'return=minimal' }
const KIND = { kind: 'transaction' } as const

const refuseOther = (kind: string): void => {
  if (kind !== 'transaction') throw BundleExpected(`a Bundle of type "${kind}"`)
}

/** `late` returns the parts once the server has started. */
export const createTransactionOf =
  (late: () => SessionTransactionParts, seat: Seat): Session['transaction'] =>
  async (json, beside) => {
    const { large, transaction } = late()
    const { view, request } = seat.openToChange()
    const body = Buffer.from(json)
    try {
      const envelope = large.concerns(body)
        ? await readLargeEnvelope(await large.read(request, body), request, refuseOther)
        : readBundleRequest(body, refuseOther)
      await authorize(view.run, request, KIND)
      return await transaction(view, request, envelope, HEADERS, beside)
    } catch (error) {
      await emitRefused(view.run, request, KIND, error)
      throw error
    }
  }
