/**
 * The steps of a read, which requests and entries of a transaction share. Addressed: its address, parameters and
 * headers were read. Answered: it was performed after authorization.
 */
import type { Interaction, Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { dispatchRead, type ReadResult } from '../dispatch.ts'
import type { View } from '../view.ts'
import type { Answer } from './answer.ts'
import type { InteractionRequest } from './request.ts'

export interface AddressedRead {
  readonly interaction: Interaction
  /** `view` may be the view of a transaction. Throws 4xx. */
  answer(view: View, ruling: Ruling): MaybePromise<Answer>
}

/** Reads address, parameters and headers. Throws 404, 400, 406. */
export type AddressRead = (view: View, request: InteractionRequest) => AddressedRead

export type PerformRead = (view: View, request: InteractionRequest, addressed: AddressedRead) => MaybePromise<Answer>

export const createPerformRead = (audit: Pick<AuditDetails, 'of'>): PerformRead => {
  const toDone = ({ run }: View, { ctx }: InteractionRequest, result: Answer): ReadResult<Answer> => {
    const { status, version, details = audit.of(run, version, ctx.ownUrl) } = result
    return { result, status, version: version?.version, details, operation: result.recordedAs }
  }
  return (view, request, { interaction, answer }) =>
    dispatchRead(view.run, request.ctx, interaction, (ruling) =>
      chain(answer(view, ruling), (answered) => toDone(view, request, answered)),
    )
}
