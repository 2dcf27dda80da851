/** The thread that evaluates expressions. It has no access to the database: what it needs it asks the main thread for. */
import { parentPort } from 'node:worker_threads'
import { loadEngine } from '../../model/thread-service.ts'
import { nextQuestion } from '../adaptive/next-question.ts'
import { assemble } from '../assemble/assemble.ts'
import type { FindValueSetCodes } from '../check/check-contract.ts'
import { checkResponse } from '../check/check-response.ts'
import { createEvaluator, type Evaluator } from '../expressions/evaluator.ts'
import { extract } from '../extract/extract.ts'
import { populate } from '../populate/populate.ts'
import type { Json } from '../questionnaire/json.ts'
import type { Ask, Question } from './ask.ts'
import { JobRefused } from './job-refused.ts'
import type { FromThread, Job, ToThread } from './messages.ts'

const send = (message: FromThread): void => parentPort?.postMessage(message)

const createAsk = () => {
  const waiting = new Map<number, (answer: unknown) => void>()
  let asked = 0
  const ask = ((question: Question): Promise<unknown> =>
    new Promise((resolve) => {
      asked += 1
      waiting.set(asked, resolve)
      send({ kind: 'ask', number: asked, question })
    })) as Ask
  const answered = (number: number, answer: unknown): void => {
    const resolve = waiting.get(number)
    waiting.delete(number)
    resolve?.(answer)
  }
  return { ask, answered }
}

const perform = async (job: Job, evaluator: Evaluator, ask: Ask): Promise<Json> => {
  const findCodes: FindValueSetCodes = (valueSet, system, code) => ask({ kind: 'codes', valueSet, system, code })
  switch (job.kind) {
    case 'populate':
      return { ...(await populate(job.input, evaluator, ask)) }
    case 'extract':
      return { ...(await extract(job.input, evaluator, ask)) }
    case 'check':
      return { issues: await checkResponse(job.input, { evaluator, findCodes }) }
    case 'assemble':
      return { ...(await assemble(job.input, evaluator, ask)) }
    case 'next-question':
      return { ...(await nextQuestion(job.input, { evaluator, findCodes })) }
  }
}

const work = (): void => {
  // fhirpath.js prints parts of expressions, which clients have written, and which must not get into the log.
  for (const name of ['log', 'info', 'warn', 'error', 'debug'] as const) console[name] = () => undefined
  const engine = loadEngine()
  const { ask, answered } = createAsk()
  const run = async (job: Job): Promise<void> => {
    try {
      const evaluator = createEvaluator(await engine)
      send({ kind: 'begun' })
      send({ kind: 'done', result: await perform(job, evaluator, ask) })
    } catch (error) {
      if (error instanceof JobRefused) send({ kind: 'refused', refusal: error.refusal, words: error.words })
      else send({ kind: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  }
  parentPort?.on('message', (message: ToThread) => {
    if (message.kind === 'job') void run(message.job)
    else answered(message.number, message.answer)
  })
}

work()
