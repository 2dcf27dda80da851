/**
 * Runs every test file in a process of its own, two at a time, and closes with `N passed, N failed`. Arguments choose
 * files by a part of their path: `npm test -- server/crud`.
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

const FILE_MS = 300_000 // a file that takes longer hangs

interface Outcome {
  readonly file: string
  readonly passed: number
  readonly failed: number
  readonly output: string
  readonly ms: number
}

const root = fileURLToPath(new URL('..', import.meta.url))

const numberAfter = (label: string, output: string): number | undefined => {
  const found = [...output.matchAll(new RegExp(`${label}:\\s+(\\d+)`, 'g'))].at(-1)?.[1]
  return found === undefined ? undefined : Number(found)
}

const runFile = (file: string): Promise<Outcome> =>
  new Promise((resolve) => {
    const started = performance.now()
    let output = ''
    const child = spawn(process.execPath, [file], { cwd: root, env: { ...process.env, FORCE_COLOR: '0' } })
    const late = setTimeout(() => child.kill('SIGKILL'), FILE_MS)
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    child.on('close', (code) => {
      clearTimeout(late)
      const total = numberAfter('Total', output) ?? 0
      const passed = numberAfter('Passed', output) ?? 0
      // A file that ends badly without counting its tests has failed once.
      const failed = Math.max(total - passed, code === 0 && total > 0 ? 0 : 1)
      resolve({ file, passed, failed, output, ms: performance.now() - started })
    })
  })

const wanted = process.argv.slice(2)
const files = globSync('test/**/*.test.ts', { cwd: root })
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort()
const outcomes: Outcome[] = []
const queue = [...files]
const work = async (): Promise<void> => {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const outcome = await runFile(file)
    outcomes.push(outcome)
    const seconds = (outcome.ms / 1000).toFixed(1)
    console.log(`${outcome.failed === 0 ? 'ok  ' : 'FAIL'} ${file} (${outcome.passed} tests, ${seconds} s)`)
    if (outcome.failed > 0) console.log(outcome.output)
  }
}
await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work))
const sum = (key: 'passed' | 'failed'): number => outcomes.reduce((total, outcome) => total + outcome[key], 0)
if (files.length === 0) console.log('no test file matches')
console.log(`${sum('passed')} passed, ${sum('failed')} failed`)
process.exitCode = sum('failed') > 0 || files.length === 0 ? 1 : 0
