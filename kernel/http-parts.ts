/** What the Fastify host is made of, and what differs between our own listener and an embedding. */
import type { ServerResponse } from 'node:http'
import type { FastifyPluginCallback } from 'fastify'
import type { Compression } from './compression/compression.ts'
import type { DeclaredDirect, DirectRouter } from './direct-router.ts'
import type { Runners } from './freeze.ts'
import type { Presentations } from './presentation.ts'
import type { ContextParts } from './request-context.ts'
import type { AskRelay, RequestHooks } from './request-hooks.ts'
import type { ServerError } from './server-error.ts'
import type { BareRefusals } from './unparsed.ts'
import type { Upgrades } from './upgrades.ts'
import type { UsageWatch } from './usage.ts'

export interface MountedRoutes {
  readonly plugin: string
  readonly callback: FastifyPluginCallback
  readonly bare: boolean
}

export interface HttpParts extends ContextParts {
  readonly run: Runners
  readonly routes: readonly MountedRoutes[]
  readonly direct: readonly DeclaredDirect[]
  /** The error that refuses requests at this time; undefined when the server is ready. */
  readonly refusal: () => ServerError | undefined
  readonly isStopping: () => boolean
  readonly upgrades: Upgrades
  /** Null when no answer is compressed. */
  readonly compression: Compression | null
  /** Null when no plugin presents answers in another form. */
  readonly presentations: Presentations | null
}

export interface MountOptions {
  /** Set in an embedding: true for a response that has reached no hook of ours, so that its errors are the host's. */
  readonly isHosts?: (response: ServerResponse) => boolean
  /** Set unless the kernel is embedded in a host's server: answers frequent requests before the router sees them. */
  readonly front?: DirectRouter
  /** On our own listener: refusals of what the parser made no request of. */
  readonly refusals?: BareRefusals
  /** On our own listener: sets after how many milliseconds without progress an answer is cut; null for never. */
  readonly stall?: (response: ServerResponse, ms: number | null) => void
}

/** Steps that are the same for direct answers and routed ones; null where no plugin taps them. */
export interface SharedSteps {
  readonly watchUsage: UsageWatch | null
  readonly passHooks: RequestHooks | null
  readonly askRelay: AskRelay | null
}
