/**
 * Makes one file of each program that many tests start as a process, and of threads, with chunks for what they load later, and
 * starts a server once so that its compiled form is in the cache of the run. A server is eight hundred modules, and loading these
 * one by one took half of the CPU time of its start, and a third of a thread's. Packages of npm stay outside: they are few files.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { BUNDLED, BUNDLED_THREADS, folderOfPrograms } from './bundled-program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const OWN_SOURCES = /[\\/](?:kernel|plugins|test)[\\/].*\.ts$/

/** A module finds its threads and files beside its source. */
const keepUrls: Plugin = {
  name: 'keep URLs of modules',
  setup({ onLoad }) {
    onLoad({ filter: OWN_SOURCES }, ({ path }) => {
      const url = JSON.stringify(pathToFileURL(path).href)
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', url), loader: 'ts' }
    })
  },
}

const folder = folderOfPrograms()
if (folder === undefined) throw new Error('REFHIR_TEST_RUN names no folder of a run')
const options: BuildOptions = {
  outdir: folder,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  packages: 'external',
  outExtension: { '.js': '.mjs' },
  plugins: [keepUrls],
  logLevel: 'error',
}
const programs = BUNDLED.map((name) => join(root, 'test', 'support', `${name}.ts`))
await Promise.all([
  build({ ...options, entryPoints: programs }),
  // Each is built by itself, so that it takes few chunks: it has no module in common with another bundle, and none twice.
  ...BUNDLED_THREADS.map((file) => build({ ...options, entryPoints: [join(root, file)], outbase: root })),
])
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))

const settings = JSON.stringify({ database: { kind: 'memory' } })
const server = spawn(process.execPath, [join(folder, 'child-server.mjs'), settings], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const gone = once(server, 'exit')
server.stdout.once('data', () => server.kill('SIGTERM'))
const [code] = await gone
if (code !== 0) {
  rmSync(folder, { recursive: true }) // so that the sources are started
  throw new Error(`the bundle of a server ended with ${code}`)
}
