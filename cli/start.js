/** Answers --version before anything heavy is loaded, then runs the compiled program, or the sources in a checkout. */
import { existsSync, readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
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

if (flags.includes('--version') || flags.includes('-V')) {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  process.stdout.write(`${version}\n`)
} else {
  lend('HOME', homedir, tmpdir())
  lend('SHELL', userInfo, '/bin/sh')
  enableCompileCache()
  const built = new URL('../dist/cli/main.js', import.meta.url)
  await import(existsSync(built) ? built.href : './main.ts')
}
