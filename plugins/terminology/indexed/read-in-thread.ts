/**
 * Reads code systems in a thread, part after part. Those that follow each other share a thread: to start one takes longer
 * than most of them.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadHeapMegabytes, workerUrl } from '../../../kernel/index.ts'
import type { FromIndexingThread, SystemToIndex, ToIndexingThread } from './indexing-messages.ts'

const WORKER = workerUrl(import.meta.url, './indexing-thread.ts')
/** A thread that needs more is terminated. A resource of 40 MB takes about a fifth. */
const HEAP_MEGABYTES = 2_048

export type IndexingPart = Exclude<FromIndexingThread, { kind: 'end' }>

export interface IndexingThread {
  /** One code system at a time. Throws when the signal aborts, or the thread fails: the next one has a thread of its own. */
  read(system: SystemToIndex, signal: AbortSignal): AsyncGenerator<IndexingPart>
  /** The next code system starts a thread again. */
  end(): Promise<void>
}

interface Running {
  readonly worker: Worker
  /** Rejects when the thread ends or fails. */
  readonly ended: Promise<never>
}

const start = (): Running => {
  const worker = new Worker(WORKER, {
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMegabytes(HEAP_MEGABYTES) },
  })
  worker.unref()
  // An error of the thread rejects it, too.
  const ended = once(worker, 'exit').then(() => Promise.reject(new Error('the thread ended')))
  ended.catch(() => undefined)
  return { worker, ended }
}

export const createIndexingThread = (): IndexingThread => {
  let running: Running | undefined
  const end = async (): Promise<void> => {
    const ending = running
    running = undefined
    await ending?.worker.terminate()
  }
  return {
    end,
    async *read(system, signal) {
      running ??= start()
      const { worker, ended } = running
      const ask = async (message: ToIndexingThread): Promise<FromIndexingThread> => {
        const answer = once(worker, 'message', { signal })
        worker.postMessage(message)
        const [part] = (await Promise.race([answer, ended])) as [FromIndexingThread]
        return part
      }
      try {
        for (let part = await ask(system); part.kind !== 'end'; part = await ask(undefined)) yield part
      } catch (error) {
        await end()
        throw error
      }
    },
  }
}
