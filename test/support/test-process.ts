/**
 * Runs test files one after the other in one process; `test/run.ts` sends their paths, and the kind of database of each. So
 * modules are compiled and PostgreSQL is started once for many files. A character that no test prints marks the end of a
 * file's output.
 */
import { flushCompileCache } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { Run } from './file-runner.ts'
import { forgetKeptMemory } from './kept-memory.ts'
import { treeCpu } from './tree-cpu.ts'

forgetKeptMemory()

const END_OF_FILE = '\u0004'

const uvuState = globalThis as unknown as { UVU_DEFER: number; UVU_INDEX: number; UVU_QUEUE: unknown[][] }
uvuState.UVU_DEFER = 1 // a suite runs when `exec` is called
uvuState.UVU_INDEX = 0

let isFirst = true
let before = 0 // seconds of CPU time until the end of the last file

const ofRun = process.env.TEST_DATABASE // for files whose kind the runner does not choose

/** Sets the variable that a file, and the processes that it starts, find in their environment. */
const setKind = (kind: string | undefined): void => {
  if (kind === undefined) delete process.env.TEST_DATABASE
  else process.env.TEST_DATABASE = kind
}

const run = async ({ file, kind = ofRun }: Run): Promise<void> => {
  setKind(kind)
  const { exec } = (await import('uvu')) as unknown as { exec(): Promise<void> }
  uvuState.UVU_QUEUE = [[null]]
  await import(pathToFileURL(file).href)
  await exec()
  // Most modules are in the cache before (compile-ahead.ts). Those of the first file are written at once for processes
  // that run beside this one, the others when it ends: writing takes a tenth of a second.
  if (isFirst) flushCompileCache()
  isFirst = false
  process.exitCode = 0 // failures are counted from the output; the exit code is only for errors between files
  const now = treeCpu()
  if (now !== undefined) process.stdout.write(`CPU: ${(now - before).toFixed(2)}\n`)
  before = now ?? 0
  process.stdout.write(END_OF_FILE)
}

// A file that cannot be imported rejects without a handler, which ends the process and so reports the failure.
process.on('message', (given: Run) => void run(given))
