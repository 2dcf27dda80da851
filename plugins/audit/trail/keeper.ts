/**
 * Keeps the trail while the server runs: opens it, tells start and stop, writes checkpoints to the log, prunes. A
 * checkpoint in the log, which is kept elsewhere, is what shows that a trail was cut or an old one put back.
 */
import type { Clock, Logger } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { BlockMaker } from '../blocks/maker.ts'
import type { KeyRing } from '../chain/key.ts'
import { type HeadRow, readHead } from '../tables.ts'
import { openTrail } from './open.ts'
import { prune } from './prune.ts'
import type { Trail } from './trail.ts'

const HOUR_MS = 3_600_000

export interface Keeper {
  start(): Promise<void>
  stop(): Promise<void>
  /** Id of the trail, hexadecimal. */
  chain(): Promise<string>
}

export interface KeeperParts {
  readonly database: Database
  readonly keys: KeyRing
  readonly trail: Trail
  readonly blocks: BlockMaker
  /** Writes what waits. */
  readonly flush: () => Promise<void>
  readonly retentionDays: number | undefined
  readonly clock: Clock
  readonly log: Logger
}

export const createKeeper = (parts: KeeperParts): Keeper => {
  const { database, keys, trail, blocks, flush, retentionDays: days, clock, log } = parts
  let isStopped = false
  let pruning: Promise<unknown> = Promise.resolve()

  const checkpoint = async (): Promise<void> => {
    const head = await database.get<HeadRow>(readHead, [])
    if (head === undefined) return
    const mac = Buffer.from(head.mac).toString('hex')
    log.info({ seq: head.seq, mac, time: new Date(clock.now()).toISOString() }, 'audit checkpoint')
  }
  const pruneNow = (): void => {
    if (days === undefined) return
    pruning = prune({ database, keys, trail, days, clock, log }).catch((error) =>
      log.error({ err: error }, 'the audit trail could not be pruned'),
    )
  }
  const eachHour = (): void =>
    clock.deadline(HOUR_MS).addEventListener('abort', () => {
      if (isStopped) return
      checkpoint()
        .catch((error) => log.error({ err: error }, 'no audit checkpoint could be made'))
        .finally(eachHour)
      pruneNow()
      void blocks.makeMissing()
    })

  return {
    async start() {
      if (!keys.current.isSecret)
        log.warn('SERVER_AUDIT_KEY is not set: the audit trail shows mistakes only, no tampering')
      await openTrail({ database, keys, clock, log })
      await trail.write([{ at: clock.now(), kind: 'start', status: 200 }])
      await checkpoint()
      pruneNow()
      void blocks.makeMissing()
      eachHour()
    },
    async stop() {
      isStopped = true
      await Promise.all([pruning, blocks.stop()])
      await flush()
      await trail.write([{ at: clock.now(), kind: 'stop', status: 200 }])
      await checkpoint()
    },
    async chain() {
      const head = await database.get<HeadRow>(readHead, [])
      return Buffer.from(head?.chain ?? []).toString('hex')
    },
  }
}
