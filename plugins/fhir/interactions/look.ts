/**
 * A read in two steps, so that a request of its own and an entry of a transaction take the same ones: addressed (what is
 * asked), and answered once it was ruled on.
 */
import type { Interaction, Ruling } from '../../../kernel/index.ts'
import { read } from '../dispatch.ts'
import { detailsOf } from '../patients.ts'
import type { FhirServer } from '../server.ts'
import type { Answer } from './answer.ts'
import type { Asked } from './asked.ts'

export interface AddressedLook {
  readonly interaction: Interaction
  /** `server` may be one that reads inside a transaction. Throws 4xx. */
  answer(server: FhirServer, ruling: Ruling): Promise<Answer>
}

/** Reads address, parameters and headers. Throws 404, 400, 406. */
export type AddressLook = (server: FhirServer, asked: Asked) => AddressedLook

export const performLook = async (server: FhirServer, asked: Asked, address: AddressLook): Promise<Answer> => {
  const { interaction, answer } = address(server, asked)
  return read(server.run, asked.ctx, interaction, async (ruling) => {
    const result = await answer(server, ruling)
    const { status, version, details = detailsOf(server, version) } = result
    return { result, status, version: version?.version, details }
  })
}
