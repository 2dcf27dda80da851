/**
 * A read in two steps, so that a request of its own and an entry of a transaction take the same ones: addressed (what is
 * asked), and answered once it was ruled on.
 */
import type { Interaction, Ruling } from '../../../kernel/index.ts'
import { andThen, type Eventually } from '../../database/service.ts'
import { detailsOf } from '../audit-details.ts'
import { type Done, read } from '../dispatch.ts'
import type { FhirServer } from '../parts.ts'
import type { Answer } from './answer.ts'
import type { Asked } from './request.ts'

export interface AddressedLook {
  readonly interaction: Interaction
  /** `server` may be one that reads inside a transaction. Throws 4xx. */
  answer(server: FhirServer, ruling: Ruling): Eventually<Answer>
}

/** Reads address, parameters and headers. Throws 404, 400, 406. */
export type AddressLook = (server: FhirServer, asked: Asked) => AddressedLook

const toDone = (server: FhirServer, { ctx }: Asked, result: Answer): Done<Answer> => {
  const { status, version, details = detailsOf(server, version, ctx.ownUrl) } = result
  return { result, status, version: version?.version, details }
}

export const performLook = (
  server: FhirServer,
  asked: Asked,
  { interaction, answer }: AddressedLook,
): Eventually<Answer> => {
  return read(server.run, asked.ctx, interaction, (ruling) => {
    return andThen(answer(server, ruling), (answered) => toDone(server, asked, answered))
  })
}
