/** Finds a program that tests start as a process: its bundle in the folder of the run, or its source. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runPath } from './run-file.ts'

export const BUNDLED = ['child-server', 'importing-process'] as const

/** Files of threads that start from bundles: see resolve-sources.ts. Bundles of the others saved nothing that could be measured. */
export const BUNDLED_THREADS = [
  'plugins/fhir/large/thread.ts',
  'plugins/terminology/indexed/indexing-thread.ts',
] as const

/** Undefined outside of a run of `test/run.ts`. */
export const folderOfPrograms = (): string | undefined => runPath('programs')

/** Returns the path of the file to start. A run of few files makes no bundles. */
export const bundledProgram = (name: (typeof BUNDLED)[number]): string => {
  const folder = folderOfPrograms()
  const bundle = folder === undefined ? undefined : join(folder, `${name}.mjs`)
  return bundle !== undefined && existsSync(bundle) ? bundle : fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
}
