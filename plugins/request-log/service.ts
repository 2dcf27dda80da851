/** What other plugins may read of the stored requests. */
import { defineService } from '../../kernel/index.ts'
import type { Slowest } from './slowest.ts'

export type { Slowest, SlowRequest } from './slowest.ts'

export interface StoredRequests {
  /** Resolves when the requests recorded by this server are in the database. */
  flush(): Promise<void>
  readonly slowest: Slowest
}

export interface RequestLog {
  /** Undefined where [request_log] store is off. */
  readonly stored: StoredRequests | undefined
}

export const RequestLog = defineService<RequestLog>('request-log')
