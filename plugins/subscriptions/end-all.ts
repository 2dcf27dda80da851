/** Ends all running Subscriptions, after the operator has turned them off, so that no status says that one still runs. */
import type { Database } from '../database/service.ts'
import { deleteEvents, endState, readRunning, type StateRow } from './tables.ts'
import type { WriteStatus } from './write-status.ts'

export const endAll = async (database: Database, writeStatus: WriteStatus): Promise<number> => {
  const running = await database.all<StateRow>(readRunning, [])
  for (const row of running) {
    await writeStatus(row, 'error', 'The operator has turned Subscriptions off.')
    await database.transact(async (transaction) => {
      await transaction.run(endState, [row.version, 'error', row.id])
      await transaction.run(deleteEvents, [row.id])
    })
  }
  return running.length
}
