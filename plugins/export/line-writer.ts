/** Writes the files of an export in a thread: the main thread sends it the bodies as the database stores them. */
import { Worker } from 'node:worker_threads'
import { THREAD_LIMITS, workerUrl } from '../../kernel/index.ts'
import type { PackedBody } from '../fhir/service.ts'
import type { Added, FromLineThread, ToLineThread, WrittenFile } from './line-messages.ts'

const MESSAGE_BYTES = 256 * 1024 // of bodies in one message, because the main thread copies them in one turn
const NO_LIMITS = { lines: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

export interface OpenFile {
  readonly lines: number
  readonly bytes: number
  /**
   * Adds bodies, until the file has so many lines or bytes. Resolves to the number of bodies that it took. `aside` is called
   * with the milliseconds in which the thread worked.
   */
  add(
    bodies: readonly PackedBody[],
    most?: { readonly lines: number; readonly bytes: number },
    aside?: (ms: number) => void,
  ): Promise<number>
  /** Resolves when file and folder are on disk. Without lines there is no file, and its name is empty. */
  finish(): Promise<WrittenFile>
  /** Removes an unfinished file. */
  discard(): Promise<void>
}

export interface LineWriter {
  /** Makes a file, one at a time. `name`: that of the finished file. */
  open(folder: string, name: string): Promise<OpenFile>
  /** Ends the thread. */
  close(): Promise<void>
}

interface Waiting {
  resolve(result: Added | WrittenFile | undefined): void
  reject(error: unknown): void
}

const WORKER = workerUrl(import.meta.url, './line-thread.ts')

/** Groups bodies into messages; a large body is one of its own. */
const toMessages = function* (bodies: readonly PackedBody[]): Generator<readonly PackedBody[]> {
  let from = 0
  let size = 0
  for (const [at, { bytes }] of bodies.entries()) {
    if (at > from && size + bytes.length > MESSAGE_BYTES) {
      yield bodies.slice(from, at)
      from = at
      size = 0
    }
    size += bytes.length
  }
  if (from < bodies.length) yield bodies.slice(from)
}

/** Copies bodies, because bytes that are transferred to a thread are lost here, and the database may still cache these. */
const copyOf = (bodies: readonly PackedBody[]): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(bodies.reduce((sum, { bytes }) => sum + bytes.length, 0))
  let at = 0
  for (const { bytes } of bodies) {
    all.set(bytes, at)
    at += bytes.length
  }
  return all
}

export const createLineWriter = (): LineWriter => {
  let worker: Worker | undefined
  let waiting: Waiting | undefined

  const settle = (act: (one: Waiting) => void): void => {
    const one = waiting
    waiting = undefined
    worker?.unref()
    if (one !== undefined) act(one)
  }
  const start = (): Worker => {
    const made = new Worker(WORKER, { resourceLimits: THREAD_LIMITS })
    made.on('message', (answer: FromLineThread) =>
      settle(({ resolve, reject }) => {
        if ('result' in answer) resolve(answer.result)
        else reject(Object.assign(new Error(answer.error.message), { code: answer.error.code }))
      }),
    )
    made.on('error', (error) => settle(({ reject }) => reject(error)))
    made.on('exit', () => {
      if (worker === made) worker = undefined
      settle(({ reject }) => reject(new Error('the thread that writes files has ended')))
    })
    return made
  }
  const ask = (message: ToLineThread, transfer: readonly ArrayBuffer[] = []): Promise<unknown> =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject }
      worker ??= start()
      // A thread with work keeps the process alive, an idle one does not.
      worker.ref()
      worker.postMessage(message, transfer)
    })

  return {
    async open(folder, name) {
      await ask({ kind: 'open', folder, name })
      let lines = 0
      let bytes = 0
      return {
        get lines() {
          return lines
        },
        get bytes() {
          return bytes
        },
        async add(bodies, most = NO_LIMITS, aside) {
          let taken = 0
          for (const some of toMessages(bodies)) {
            const copied = copyOf(some)
            const asked = performance.now()
            const added = (await ask(
              {
                kind: 'add',
                bodies: copied,
                lengths: some.map((body) => body.bytes.length),
                encodings: some.map((body) => body.encoding),
                mostLines: most.lines,
                mostBytes: most.bytes,
              },
              [copied.buffer],
            )) as Added
            aside?.(performance.now() - asked)
            taken += added.taken
            lines = added.lines
            bytes = added.bytes
            if (added.taken < some.length) break
          }
          return taken
        },
        finish: async () => (await ask({ kind: 'finish' })) as WrittenFile,
        discard: async () => void (await ask({ kind: 'discard' })),
      }
    },
    async close() {
      await worker?.terminate()
    },
  }
}
