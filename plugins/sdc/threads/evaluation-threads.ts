/**
 * Runs jobs with expressions in threads, because nothing bounds the time of an expression but the end of its thread. Each thread
 * does one job at a time. The time in which the main thread answers its questions does not count.
 */
import { Worker } from 'node:worker_threads'
import { type Clock, type ErrorKind, workerUrl } from '../../../kernel/index.ts'
import {
  EvaluationBusy,
  EvaluationEnded,
  EvaluationTooCostly,
  NotAssembled,
  ResponseRefused,
  StructureMapRefused,
} from '../errors.ts'
import type { Json } from '../questionnaire/json.ts'
import type { Question } from './ask.ts'
import type { Refusal } from './job-refused.ts'
import type { FromThread, Job, ToThread } from './messages.ts'
import { createWorkTimer, type WorkTimer } from './work-timer.ts'

const MAX_THREADS = 2
const MAX_WAITING = 50
/** Milliseconds that a job may work, beside the answers to its questions. */
const BUDGET_MS = 2_000
/** About ten times what a Questionnaire of a thousand items needs. */
const HEAP_MEGABYTES = 256
/** Questions of a job, so that a Questionnaire cannot keep the database busy. */
const MAX_QUESTIONS = 2_000

const REFUSALS: Readonly<Record<Refusal, ErrorKind>> = {
  'structure-map': StructureMapRefused,
  response: ResponseRefused,
  'too-costly': EvaluationTooCostly,
  'not-assembled': NotAssembled,
}

/** Answers the questions of a job. It reads as the caller, and throws only what ends the job. */
export type AnswerQuestion = (question: Question) => Promise<unknown>

export interface EvaluationThreads {
  /** Throws 422 where the job is refused or takes too long, 503 where there are too many or the signal aborts. */
  run(job: Job, answer: AnswerQuestion, signal: AbortSignal | undefined): Promise<Json>
  close(): Promise<void>
}

interface Work {
  readonly job: Job
  readonly answer: AnswerQuestion
  readonly signal: AbortSignal | undefined
  resolve(result: Json): void
  reject(error: unknown): void
  questions: number
}

interface Thread {
  readonly worker: Worker
  work: Work | undefined
  timer: WorkTimer | undefined
}

const WORKER = workerUrl(import.meta.url, './evaluation-thread.ts')

export const createEvaluationThreads = (clock: Clock): EvaluationThreads => {
  const threads = new Set<Thread>()
  const waiting: Work[] = []
  let isClosed = false

  const settle = (thread: Thread, act: (work: Work) => void): void => {
    const { work } = thread
    thread.work = undefined
    thread.timer?.pause()
    thread.timer = undefined
    thread.worker.unref()
    if (work !== undefined) act(work)
    next()
  }
  /** Ends a thread in the middle of its work. */
  const end = (thread: Thread, error: unknown): void => {
    threads.delete(thread)
    void thread.worker.terminate()
    settle(thread, ({ reject }) => reject(error))
  }
  const answer = async (thread: Thread, number: number, question: Question): Promise<void> => {
    const { work } = thread
    if (work === undefined) return
    thread.timer?.pause()
    work.questions += 1
    if (work.questions > MAX_QUESTIONS) return end(thread, EvaluationTooCostly('too many questions to the database'))
    try {
      const answered = await work.answer(question)
      if (thread.work !== work) return
      thread.timer?.resume()
      thread.worker.postMessage({ kind: 'answer', number, answer: answered } satisfies ToThread)
    } catch (error) {
      if (thread.work === work) end(thread, error)
    }
  }
  const receive = (thread: Thread, message: FromThread): void => {
    switch (message.kind) {
      case 'begun':
        thread.timer?.resume()
        break
      case 'ask':
        void answer(thread, message.number, message.question)
        break
      case 'done':
        settle(thread, ({ resolve }) => resolve(message.result))
        break
      case 'refused': {
        const error = REFUSALS[message.refusal as Refusal](...message.words)
        settle(thread, ({ reject }) => reject(error))
        break
      }
      case 'failed':
        settle(thread, ({ reject }) => reject(new Error(message.message)))
        break
    }
  }
  const spawn = (): Thread => {
    const worker = new Worker(WORKER, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES } })
    const thread: Thread = { worker, work: undefined, timer: undefined }
    worker.on('message', (message: FromThread) => receive(thread, message))
    worker.on('error', (error: NodeJS.ErrnoException) =>
      end(thread, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? EvaluationTooCostly('too much memory') : error),
    )
    worker.on('exit', () => end(thread, EvaluationEnded()))
    worker.unref()
    threads.add(thread)
    return thread
  }
  const next = (): void => {
    while (waiting.length > 0 && !isClosed) {
      const free = [...threads].find(({ work }) => work === undefined)
      if (free === undefined && threads.size >= MAX_THREADS) return
      const thread = free ?? spawn()
      const work = waiting.shift() as Work
      thread.work = work
      thread.timer = createWorkTimer(clock, BUDGET_MS, () => end(thread, EvaluationTooCostly('too much time')))
      // A thread with work keeps the process alive, an idle one does not.
      thread.worker.ref()
      thread.worker.postMessage({ kind: 'job', job: work.job } satisfies ToThread)
    }
  }
  const leave = (work: Work): void => {
    const at = waiting.indexOf(work)
    if (at >= 0) {
      waiting.splice(at, 1)
      work.reject(EvaluationEnded())
    }
    for (const thread of threads) if (thread.work === work) end(thread, EvaluationEnded())
  }
  return {
    run: (job, answerQuestion, signal) =>
      new Promise((resolve, reject) => {
        if (isClosed || signal?.aborted) return reject(EvaluationEnded())
        if (waiting.length >= MAX_WAITING) return reject(EvaluationBusy())
        const work: Work = {
          ...{ job, answer: answerQuestion, signal, questions: 0 },
          resolve(result) {
            signal?.removeEventListener('abort', gone)
            resolve(result)
          },
          reject(error) {
            signal?.removeEventListener('abort', gone)
            reject(error)
          },
        }
        const gone = (): void => leave(work)
        signal?.addEventListener('abort', gone)
        waiting.push(work)
        next()
      }),
    async close() {
      isClosed = true
      for (const work of waiting.splice(0)) work.reject(EvaluationEnded())
      for (const thread of threads) end(thread, EvaluationEnded())
    },
  }
}
