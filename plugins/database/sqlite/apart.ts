/** Runs the module of `apart` in a thread of its own. A thread that is not wanted any more is ended. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { QueryCancelled } from '../errors.ts'

// The compiled tree holds .js beside it; the sources run as they are.
const WORKER = new URL(import.meta.url.endsWith('.ts') ? './apart-worker.ts' : './apart-worker.js', import.meta.url)

export const runApart = async <I, O>(path: string, module: URL, input: I, signal?: AbortSignal): Promise<O> => {
  if (signal?.aborted) throw QueryCancelled()
  const worker = new Worker(WORKER, { workerData: { path, module: module.href, input } })
  try {
    const [answer] = await Promise.race([
      once(worker, 'message', { signal }).catch((error) => {
        throw signal?.aborted ? QueryCancelled() : error
      }),
      once(worker, 'exit').then(() => {
        throw QueryCancelled()
      }),
    ])
    return answer as O
  } finally {
    await worker.terminate()
  }
}
