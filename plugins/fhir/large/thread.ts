/**
 * A thread for large bodies, with one task at a time. It requests definitions from the main thread, which has the
 * database.
 */
import { platform, setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { createElements, createReferenceWalker, createXmlCodec, loadPathInterpreter } from '../../model/service.ts'
import type { Definition, Definitions } from '../../packages/service.ts'
import {
  createConverters,
  createExtraction,
  createHasher,
  createParameterState,
  createPatientSubjects,
} from '../../search/thread-service.ts'
import { openValidator } from '../../validation/service.ts'
import { createExamination } from './examination.ts'
import type { Part } from './outcome.ts'
import type { FromThread, ThreadData, ToThread } from './thread-data.ts'

const LOWER_PRIORITY = 10 // nice value: 0 is the default, 19 the lowest priority

type Answered = Extract<ToThread, { kind: 'definition' }>

/** Definitions that are requested from the main thread by messages. */
const createAsking = ({ packages, fingerprint }: ThreadData, post: (message: FromThread) => void) => {
  const asked = new Map<number, { resolve(found: Definition | undefined): void; reject(error: Error): void }>()
  let count = 0
  const definitions: Definitions = {
    packages,
    fingerprint,
    all: () => Promise.reject(new Error('a thread reads single definitions only')),
    find: (type, url, version) =>
      new Promise((resolve, reject) => {
        count += 1
        asked.set(count, { resolve, reject })
        post({ kind: 'find', number: count, type, url, version })
      }),
    refresh: async () => false,
  }
  const answer = (message: Answered): void => {
    const question = asked.get(message.number)
    asked.delete(message.number)
    if ('error' in message) question?.reject(new Error(message.error))
    else question?.resolve(message.definition)
  }
  return { definitions, answer }
}

const open = async (data: ThreadData, definitions: Definitions) => {
  const { seed, caseless, model, held, packaged, posted } = data.extraction
  const walker = createReferenceWalker(data.referencePaths)
  const hasher = createHasher(seed, new Set(caseless))
  const state = createParameterState(model, held, packaged, posted)
  const toNodes = model.columns.some(({ exotic }) => exotic === true) ? await loadPathInterpreter() : undefined
  const converters = createConverters(hasher)
  const types = new Set(data.types)
  const isType = (name: string): boolean => types.has(name)
  return createExamination({
    referenceWalker: walker,
    isType,
    xml: createXmlCodec({ definitions, isType }),
    extraction: createExtraction({
      hasher,
      referenceWalker: walker,
      converters,
      state: () => state,
      toNodes: () => toNodes,
    }),
    patients: createPatientSubjects(model),
    elements: createElements(definitions),
    fullTextMode: data.fullTextMode,
    validator: data.validator && (await openValidator(data.validator, definitions)),
  })
}

const serve = (port: MessagePort, data: ThreadData): void => {
  const post = (message: FromThread): void => port.postMessage(message)
  const { definitions, answer } = createAsking(data, post)
  const opening = open(data, definitions)
  let parts: Part[] = []
  const take = async (message: ToThread): Promise<void> => {
    if (message.kind === 'definition') return answer(message)
    if (message.kind === 'next') {
      const part = parts.pop()
      return post(part === undefined ? { kind: 'end' } : { kind: 'part', part })
    }
    const examine = await opening
    const outcome = await examine(message.task)
    parts = [...outcome.parts].reverse()
    post({ kind: 'head', head: outcome.head })
  }
  port.on('message', (message: ToThread) => {
    take(message).catch((error: Error) => post({ kind: 'failed', message: error.message, stack: error.stack }))
  })
}

// On Linux each thread has its own priority. A lower one lets the main thread go first.
if (platform() === 'linux') setPriority(LOWER_PRIORITY)
if (parentPort !== null) serve(parentPort, workerData as ThreadData)
