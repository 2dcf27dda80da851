/**
 * The request for one interaction: an HTTP request as Fastify represents it, or an entry of a Bundle in the same shape,
 * so that the same code performs both.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Interaction, RequestContext } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'

/** Parameters in the path: `/[type]/[id]/_history/[version]`, `/[type]/[id]/[other]`, `/[type]/[id]/$[operation]`. */
export interface PathParams {
  readonly type?: string
  readonly id?: string
  readonly version?: string
  /** The type that is searched in a compartment, or `*`. */
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
  /** Bytes of an HTTP request; the parsed resource of an entry. */
  readonly body?: unknown
  /** The current version at the address of a read, if the caller has it already. */
  readonly current?: StoredVersion
  /** `Type/id` of what the same transaction deletes. Conditions do not match it. */
  readonly gone?: ReadonlySet<string>
  /** Index of the entry in its Bundle. */
  readonly entry?: number
}

/** Adds the index of the entry to the interaction. */
export const interactionOf = ({ entry }: InteractionRequest, interaction: Interaction): Interaction =>
  entry === undefined ? interaction : { ...interaction, entry }
