/**
 * Takes the checks out that keep servers apart, one at a time in a copy of the sources, and runs the test that has to fail
 * without it. A check whose test passes is not guarded.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Fence } from './fences/fence.ts'
import { FOLLOWING_FENCES } from './fences/following.ts'
import { LEASE_FENCES } from './fences/lease.ts'
import { RELAY_FENCES } from './fences/relay.ts'
import { SNAPSHOT_FENCES } from './fences/snapshot.ts'
import { SQLITE_FENCES } from './fences/sqlite.ts'

export const FENCES: readonly Fence[] = [
  ...LEASE_FENCES,
  ...FOLLOWING_FENCES,
  ...RELAY_FENCES,
  ...SNAPSHOT_FENCES,
  ...SQLITE_FENCES,
]

const TEST_MS = 600_000
const TEMPORARY = 't' // folder for what tests leave behind
const RESOLVE_SOURCES = './test/support/resolve-sources.ts'
const NOT_COPIED: ReadonlySet<string> = new Set(['node_modules', '.git', 'dist', 'coverage'])
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Replaces the text in a file of the copy. Returns what undoes it. Throws where the file does not have it once. */
const plant = (folder: string, file: string, text: string, planted: string): (() => void) => {
  const path = join(folder, file)
  const before = readFileSync(path, 'utf8')
  if (before.split(text).length !== 2) throw new Error(`${file} does not have once: ${text}`)
  writeFileSync(
    path,
    before.replace(text, () => planted),
  )
  return () => writeFileSync(path, before)
}

/** The sources in a folder of their own. The packages are those of this checkout. */
const copySources = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'refhir-fences-'))
  cpSync(root, folder, { recursive: true, filter: (from) => !NOT_COPIED.has(relative(root, from)) })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  mkdirSync(join(folder, TEMPORARY))
  // PostgreSQL runs under another account.
  for (const one of [folder, join(folder, TEMPORARY)]) chmodSync(one, 0o755)
  return folder
}

/**
 * The name of the first test of the file that fails; undefined where none does. Throws where it does not come to its end: that
 * says nothing of the check that was taken out. A test that fails leaves servers open, so what it has started is ended with it.
 */
const failureOf = async (folder: string, file: string): Promise<string | undefined> => {
  const child = spawn(process.execPath, ['--import', RESOLVE_SOURCES, file], {
    ...{ cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'ignore'] },
    env: {
      ...{ ...process.env, FORCE_COLOR: '0', TMPDIR: join(folder, TEMPORARY) },
      TEST_DATABASE: file.includes('sqlite') ? 'sqlite' : 'postgres',
    },
  })
  const end = (): void => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL')
    } catch {
      // Nothing of it is left.
    }
  }
  const late = setTimeout(end, TEST_MS)
  let output = ''
  const isDone = (): boolean => /^ *Passed: /m.test(output)
  child.stdout?.on('data', (chunk) => {
    output += chunk
    if (isDone()) end()
  })
  await once(child, 'exit')
  clearTimeout(late)
  end()
  if (!isDone()) throw new Error(`${file} did not come to its end: ${output.slice(-1_000)}`)
  const [, failed] = /^ *FAIL +"(.*)"$/m.exec(output) ?? []
  return failed
}

/** `many`: how many of them, from the one of this number on. */
export const checkFences = async (many: number, first: number): Promise<readonly string[]> => {
  const folder = copySources()
  const unguarded: string[] = []
  try {
    for (const { name, file, check, planted, test } of FENCES.slice(first - 1, first - 1 + many)) {
      const restore = plant(folder, file, check, planted)
      let failure: string | undefined
      try {
        failure = await failureOf(folder, test)
      } finally {
        restore()
      }
      console.log(`${name}: ${failure ?? 'nothing failed'}`)
      if (failure === undefined) unguarded.push(`${name}: nothing fails without it`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return unguarded
}
