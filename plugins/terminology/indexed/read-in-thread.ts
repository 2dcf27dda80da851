/** Reads a code system in a thread, part after part. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadHeapMegabytes, workerUrl } from '../../../kernel/index.ts'
import type { FromIndexingThread, SystemToIndex } from './indexing-messages.ts'

const WORKER = workerUrl(import.meta.url, './indexing-thread.ts')
/** A thread that needs more is terminated. A resource of 40 MB takes about a fifth. */
const HEAP_MEGABYTES = 2_048

/** Ends with the thread; throws when the signal aborts, or the thread fails. */
export async function* readInThread(
  system: SystemToIndex,
  signal: AbortSignal,
): AsyncGenerator<Exclude<FromIndexingThread, { kind: 'end' }>> {
  const worker = new Worker(WORKER, {
    workerData: system,
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMegabytes(HEAP_MEGABYTES) },
  })
  worker.unref()
  const gone = new AbortController()
  const ended = once(worker, 'exit', { signal: gone.signal }).then(() => Promise.reject(new Error('the thread ended')))
  ended.catch(() => undefined)
  try {
    for (;;) {
      // An error of the thread rejects it, too.
      const answer = once(worker, 'message', { signal })
      worker.postMessage(undefined)
      const [part] = (await Promise.race([answer, ended])) as [FromIndexingThread]
      if (part.kind === 'end') return
      yield part
    }
  } finally {
    gone.abort()
    await worker.terminate()
  }
}
