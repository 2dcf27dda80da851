/** Finds a program that tests start as a process: its bundle in the folder of the run, or its source. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const BUNDLED = ['child-server', 'importing-process'] as const

/** Undefined outside of a run of `test/run.ts`. */
export const folderOfPrograms = (): string | undefined => {
  const run = process.env.REFHIR_TEST_RUN
  return run === undefined ? undefined : join(run, 'programs')
}

/** Returns the path of the file to start. A run of few files makes no bundles. */
export const bundledProgram = (name: (typeof BUNDLED)[number]): string => {
  const folder = folderOfPrograms()
  const bundle = folder === undefined ? undefined : join(folder, `${name}.mjs`)
  return bundle !== undefined && existsSync(bundle) ? bundle : fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
}
