/**
 * A read in two steps, so that a request of its own and an entry of a transaction take the same ones: addressed (what is
 * asked), and answered once it was ruled on.
 */
import type { Interaction, Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import { auditDetailsOf } from '../audit-details.ts'
import { dispatchRead, type ReadResult } from '../dispatch.ts'
import type { FhirServer } from '../parts.ts'
import type { Answer } from './answer.ts'
import type { InteractionRequest } from './request.ts'

export interface AddressedRead {
  readonly interaction: Interaction
  /** `server` may be one that reads inside a transaction. Throws 4xx. */
  answer(server: FhirServer, ruling: Ruling): MaybePromise<Answer>
}

/** Reads address, parameters and headers. Throws 404, 400, 406. */
export type AddressRead = (server: FhirServer, request: InteractionRequest) => AddressedRead

const toDone = (server: FhirServer, { ctx }: InteractionRequest, result: Answer): ReadResult<Answer> => {
  const { status, version, details = auditDetailsOf(server, version, ctx.ownUrl) } = result
  return { result, status, version: version?.version, details }
}

export const performRead = (
  server: FhirServer,
  request: InteractionRequest,
  { interaction, answer }: AddressedRead,
): MaybePromise<Answer> => {
  return dispatchRead(server.run, request.ctx, interaction, (ruling) => {
    return chain(answer(server, ruling), (answered) => toDone(server, request, answered))
  })
}
