/**
 * Loaded before the program of a process with `--import`: resolves the imports of a source file by another one, which are
 * relative and whole, without asking the file system where they lead and what is there. It takes a third of the CPU time
 * of loading a server's eight hundred modules. Threads load it, too, and start from the bundles of their files, which a run
 * of many files makes: see bundle-programs.ts.
 */
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'

const root = new URL('../..', import.meta.url).href
const run = isMainThread ? undefined : process.env.REFHIR_TEST_RUN

/** The bundle of a file of this thread, in the folder of the run; undefined where there is none. */
const bundleOf = (url: string): string | undefined => {
  if (run === undefined || !url.startsWith(root) || !url.endsWith('.ts')) return undefined
  const path = join(run, 'programs', url.slice(root.length).replace(/\.ts$/, '.mjs'))
  return existsSync(path) ? pathToFileURL(path).href : undefined
}

registerHooks({
  resolve: (specifier, context, next) => {
    const bundle = bundleOf(specifier)
    if (bundle !== undefined) return next(bundle, context)
    return specifier.startsWith('.') && specifier.endsWith('.ts') && context.parentURL?.endsWith('.ts')
      ? { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
      : next(specifier, context)
  },
})
