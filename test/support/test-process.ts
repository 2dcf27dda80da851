/**
 * Runs test files one after the other in one process, as `test/run.ts` sends their paths: what they import is compiled, and
 * PostgreSQL is started, once for many of them. A character that no test prints ends the output of a file.
 */
import { flushCompileCache } from 'node:module'
import { pathToFileURL } from 'node:url'

const END_OF_FILE = '\u0004'

const uvuState = globalThis as unknown as { UVU_DEFER: number; UVU_INDEX: number; UVU_QUEUE: unknown[][] }
uvuState.UVU_DEFER = 1 // a suite waits for `exec`
uvuState.UVU_INDEX = 0

const run = async (file: string): Promise<void> => {
  const { exec } = (await import('uvu')) as unknown as { exec(): Promise<void> }
  uvuState.UVU_QUEUE = [[null]]
  await import(pathToFileURL(file).href)
  await exec()
  flushCompileCache() // else only when the process ends, and processes that are killed would find nothing until then
  process.exitCode = 0 // counted by who reads the output; the code tells what happens between files
  process.stdout.write(END_OF_FILE)
}

// An error of a file that cannot be imported is not handled: it ends the process, and so reports that the file failed.
process.on('message', (file: string) => void run(file))
