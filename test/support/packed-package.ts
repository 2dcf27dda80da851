/**
 * The package as `npm pack` makes it from sources that were not built before. It can be unpacked several times, and each folder
 * gets its own copy.
 */
import { execFile } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { compilerEnvironment } from './compiler-environment.ts'
import { until } from './until.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const PACK_MS = 300_000
const SOURCES = [
  'LICENSE',
  'README.md',
  'CONTRIBUTING.md',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'kernel',
  'plugins',
  'cli',
  'examples',
  'schemas',
]

/** Returns the file that `npm pack` makes in the folder, by its prepack script. */
const pack = async (folder: string): Promise<string> => {
  for (const part of SOURCES) cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  const env = { ...process.env, ...compilerEnvironment }
  const { stdout } = await run('npm', ['pack', '--silent', '--offline'], { cwd: folder, env })
  return join(folder, stdout.trim().split('\n').at(-1)!)
}

const packIn = (scratch: string): Promise<string> => {
  const build = join(scratch, 'build')
  mkdirSync(build)
  return pack(build)
}

/** True where this process made the folder, which stands for the work on the package. */
const begins = (lock: string): boolean => {
  try {
    mkdirSync(lock)
    return true
  } catch {
    return false
  }
}

/** Packs once in a run of tests: its files share a folder, which the runner removes. Who comes meanwhile waits. */
export const packOnce = async (scratch: string): Promise<string> => {
  const shared = process.env.REFHIR_TEST_RUN
  if (shared === undefined) return packIn(scratch)
  const known = join(shared, 'packed.tgz')
  const lock = `${known}.lock`
  while (!existsSync(known)) {
    if (!begins(lock)) {
      await until(() => existsSync(known) || !existsSync(lock), PACK_MS, 'the package')
      continue
    }
    try {
      copyFileSync(await packIn(scratch), `${known}.${process.pid}`)
      renameSync(`${known}.${process.pid}`, known)
    } finally {
      rmSync(lock, { recursive: true })
    }
  }
  return known
}

export interface PackedPackage {
  /** Folder whose node_modules hold the dependencies of all copies, which lie below it. */
  readonly path: string
  /** Puts the package to `<folder>/node_modules/refhir`, and returns that path. Its files are links: replace what you change. */
  install(folder: string): Promise<string>
  /** Type-checks source files in the folder against the packages installed there; returns the compiler's messages. */
  complaints(folder: string, sources: Readonly<Record<string, string>>): Promise<string>
  remove(): void
}

export const createPackedPackage = async (): Promise<PackedPackage> => {
  const path = mkdtempSync(join(tmpdir(), 'refhir-packed-'))
  const tarball = await packOnce(path)
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'), 'junction')
  const unpacked = join(path, 'unpacked')
  mkdirSync(unpacked)
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', unpacked])
  return {
    path,
    async install(folder) {
      const place = join(path, folder, 'node_modules/refhir')
      mkdirSync(place, { recursive: true })
      await run('cp', ['-al', `${unpacked}/.`, place])
      return place
    },
    async complaints(folder, sources) {
      for (const [name, source] of Object.entries(sources)) writeFileSync(join(path, folder, name), source)
      const options = [
        '--noEmit',
        '--checkers',
        '1',
        '--pretty',
        'false',
        '--strict',
        '--skipLibCheck',
        '--module',
        'nodenext',
        '--types',
        'node',
        ...Object.keys(sources),
      ]
      const env = { ...process.env, ...compilerEnvironment }
      const checked = run(process.execPath, [compiler, ...options], { cwd: join(path, folder), env })
      return checked.then(
        () => '',
        (error: { readonly stdout: string }) => error.stdout,
      )
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

/** Writes the package of a plugin as `<folder>/node_modules/<name>`. */
export const writePlugin = (folder: string, name: string, source: string): string => {
  const place = join(folder, 'node_modules', name)
  mkdirSync(place, { recursive: true })
  writeFileSync(
    join(place, 'package.json'),
    JSON.stringify({ name, version: '1.0.0', type: 'module', exports: './index.js' }),
  )
  writeFileSync(join(place, 'index.js'), source)
  return place
}
