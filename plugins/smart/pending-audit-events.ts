/**
 * Changes made by commands that are not in the audit trail yet. Only servers write the audit trail. So a command stores
 * a row in the transaction of its change, and the next server that checks moves it into the audit trail.
 */
import { type Caller, type Clock, every, type Host, type Logger, type Repeating } from '../../kernel/index.ts'
import type { Database, Transaction } from '../database/service.ts'
import {
  findPendingAuditEvent,
  insertPendingAuditEvent,
  type PendingAuditEventRow,
  takePendingAuditEvents,
} from './tables.ts'

const LOOK_MS = 60_000

export interface PendingAuditEvent {
  readonly id: string
  /** Name in the audit trail: `key-rotation`. */
  readonly operation: string
  /** The client that was changed; undefined for a rotation of keys. */
  readonly client: string | undefined
}

export const addPendingAuditEvent = async (
  transaction: Transaction,
  { id, operation, client }: PendingAuditEvent,
): Promise<void> => transaction.run(insertPendingAuditEvent, [id, operation, client ?? null])

export interface AuditEventWriter {
  start(): Promise<void>
  stop(): Promise<void>
}

export interface AuditEventWriterParts extends Pick<Host, 'run' | 'request'> {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
}

export const createAuditEventWriter = ({
  database,
  run,
  request,
  clock,
  log,
}: AuditEventWriterParts): AuditEventWriter => {
  let repeating: Repeating | undefined
  const write = async (): Promise<void> => {
    if ((await database.get(findPendingAuditEvent, [])) === undefined) return
    await database.transact(async (transaction) => {
      for (const { operation, client } of await transaction.all<PendingAuditEventRow>(takePendingAuditEvents, [])) {
        const caller: Caller = client === null ? { kind: 'internal' } : { kind: 'client', client }
        const interaction = { kind: 'auth', operation } as const
        await run.onAudit?.({ request: request({ caller, purpose: 'smart' }), interaction, status: 200, transaction })
      }
    })
  }
  const onError = (error: unknown): void =>
    log.error({ err: error }, 'changes made by commands are not written to the audit trail')
  return {
    async start() {
      // The first check comes after a minute, because the audit trail starts after this plugin.
      repeating = every(clock, LOOK_MS, write, onError)
    },
    stop: async () => repeating?.stop(),
  }
}
