/** The worker thread of an export: it decompresses bodies, hashes and writes them, so that the main thread stays free. */
import { platform, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Added, FromLineThread, ToLineThread, WrittenFile } from './line-messages.ts'
import { createPartFile, type PartFile } from './part-file.ts'

const LOWER_PRIORITY = 10 // nice value: 0 is the default, 19 the lowest priority

/** Answers messages about one file after the other. */
const createAnswer = (): ((message: ToLineThread) => FromLineThread) => {
  let file: PartFile | undefined
  const perform = (message: ToLineThread): Added | WrittenFile | undefined => {
    switch (message.kind) {
      case 'open':
        file = createPartFile(message.folder, message.name)
        return undefined
      case 'add':
        return file?.add(message)
      case 'finish':
        return file?.finish()
      case 'discard':
        file?.discard()
        return undefined
    }
  }
  return (message) => {
    try {
      return { result: perform(message) }
    } catch (error) {
      const { message: text, code } = error as NodeJS.ErrnoException
      return { error: { message: text, code } }
    }
  }
}

// On Linux each thread has its own priority. A lower one lets the main thread go first.
if (platform() === 'linux') setPriority(LOWER_PRIORITY)
const answer = createAnswer()
parentPort?.on('message', (message: ToLineThread) => parentPort?.postMessage(answer(message)))
