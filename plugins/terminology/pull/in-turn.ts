/** Starts the index and then the pull that fills it, and stops them in reverse. */
import type { Indexer } from '../indexed/indexer.ts'
import type { Puller } from './puller.ts'

export const inTurn = (indexer: Pick<Indexer, 'start' | 'stop'>, puller: Pick<Puller, 'start' | 'stop'>) => ({
  async start(): Promise<void> {
    await indexer.start()
    puller.start()
  },
  async stop(): Promise<void> {
    await puller.stop()
    await indexer.stop()
  },
})
