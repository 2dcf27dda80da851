/** Answers --version before anything heavy is loaded, then runs the compiled program, or the sources in a checkout. */
import { existsSync, readFileSync } from 'node:fs'
import { enableCompileCache, registerHooks } from 'node:module'
import { homedir, tmpdir, userInfo } from 'node:os'

const argv = process.argv.slice(2)
const end = argv.indexOf('--')
// In `server migrate --version` the flag belongs to migrate; without a command it may stand anywhere.
const flags = argv[0]?.startsWith('-') ? argv.slice(0, end === -1 ? undefined : end) : []

/**
 * oclif reads the user's home and shell, and Node throws where that user has no passwd entry, as in many containers.
 */
const lend = (name, ask, instead) => {
  try {
    if (process.env[name] === undefined) ask()
  } catch {
    process.env[name] = instead
  }
}

const SOURCES = ['cli', 'kernel', 'plugins']

/*
 * Nearly a thousand modules are loaded at a start, and for each of their imports Node looks at several files on disk to find
 * which one is meant. Within the compiled program, and within the sources, that is known from the text alone: saves a fifth
 * of the loading.
 */
const resolveWithin = (folders, ending, format) => {
  const isOwn = (specifier, parent = '') =>
    specifier.startsWith('.') && specifier.endsWith(ending) && folders.some((folder) => parent.startsWith(folder))
  registerHooks({
    resolve: (specifier, context, next) =>
      isOwn(specifier, context.parentURL)
        ? { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true }
        : next(specifier, context),
  })
}

if (flags.includes('--version') || flags.includes('-V')) {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  process.stdout.write(`${version}\n`)
} else {
  const { memoryArguments } = await import('./memory-arguments.js')
  const wanted = memoryArguments(process)
  if (wanted !== undefined) process.execve(process.execPath, [process.argv0, ...wanted.args], wanted.environment)
  lend('HOME', homedir, tmpdir())
  lend('SHELL', userInfo, '/bin/sh')
  enableCompileCache()
  const dist = new URL('../dist/', import.meta.url).href
  const built = new URL('cli/main.js', dist)
  const isBuilt = existsSync(built)
  if (isBuilt) resolveWithin([dist], '.js', 'module')
  else
    resolveWithin(
      SOURCES.map((name) => new URL(`../${name}/`, import.meta.url).href),
      '.ts',
      'module-typescript',
    )
  await import(isBuilt ? built.href : './main.ts')
}
