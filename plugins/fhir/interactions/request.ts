/**
 * What one interaction is asked with: an HTTP request as Fastify holds it, or an entry of a Bundle put into the same
 * shape, so that both are performed by the same code.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Interaction, RequestContext } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'

/** What the address names: `/[type]/[id]/_history/[version]`, `/[type]/[id]/[other]`, `/[type]/[id]/$[operation]`. */
export interface PathParams {
  readonly type?: string
  readonly id?: string
  readonly version?: string
  /** The type looked for in a compartment, or `*`. */
  readonly other?: string
  readonly operation?: string
}

export interface InteractionRequest {
  readonly ctx: RequestContext
  readonly headers: IncomingHttpHeaders
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly params: PathParams
  /** Bytes of an HTTP request; the resource of an entry, read already. */
  readonly body?: unknown
  /** What is current at the address of a read, where that is known already. */
  readonly current?: StoredVersion
  /** `Type/id` of what the same transaction deletes: a condition does not match it. */
  readonly gone?: ReadonlySet<string>
  /** Index of the Bundle entry this is. */
  readonly entry?: number
}

/** The interaction with the entry it came from. */
export const interactionOf = ({ entry }: InteractionRequest, interaction: Interaction): Interaction =>
  entry === undefined ? interaction : { ...interaction, entry }
