/** What the processes of one run of tests make once and share, in a folder that `test/run.ts` makes and removes. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The path of a name in the folder of the run; undefined where a test file runs by itself. */
export const runPath = (name: string): string | undefined => {
  const folder = process.env.REFHIR_TEST_RUN
  return folder === undefined ? undefined : join(folder, name)
}

/** The text of a file of the run; undefined where there is none yet. */
export const readRunFile = (name: string): string | undefined => {
  const path = runPath(name)
  return path !== undefined && existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** Other processes read the file as it was before, or whole. Does nothing where a test file runs by itself. */
export const writeRunFile = (name: string, text: string): void => {
  const path = runPath(name)
  if (path === undefined) return
  writeFileSync(`${path}.${process.pid}`, text)
  renameSync(`${path}.${process.pid}`, path)
}
