/** With which options of V8 and the allocator a server is started. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { heapGrowthOf } from '../../cli/bound-heap.ts'
import { memoryArguments } from '../../cli/memory-arguments.js'

const BIN = fileURLToPath(new URL('../../cli/bin.js', import.meta.url))
const YOUNG = '--max-semi-space-size=16'
const asked = (more: Partial<Parameters<typeof memoryArguments>[0]> = {}) =>
  memoryArguments({
    argv: ['node', 'quick-start.js', '--bind', 'x:1'],
    execArgv: ['--no-warnings'],
    env: { HOME: '/home/me' },
    platform: 'linux',
    versions: { node: '24.9.0' },
    execve: () => undefined,
    ...more,
  })

test('a server is started again with a smaller young generation and an allocator that gives memory back', () => {
  const wanted = asked()
  const heap = [YOUNG, '--no-flush-bytecode', '--no-allocation-site-pretenuring', '--no-memory-reducer-favors-memory']
  assert.equal(wanted?.args, ['--no-warnings', ...heap, BIN, '--bind', 'x:1'])
  assert.equal(wanted?.environment, {
    HOME: '/home/me',
    MALLOC_MMAP_THRESHOLD_: '65536',
    MALLOC_TRIM_THRESHOLD_: '131072',
    MALLOC_ARENA_MAX: '2',
  })
})

test('with options that its Node.js has: it would not start with others', () => {
  const wanted = asked({ versions: { node: '22.21.0' } })
  assert.equal(wanted?.args.slice(1, -3), [YOUNG, '--no-flush-bytecode', '--no-allocation-site-pretenuring'])
  const own = asked({ versions: process.versions })?.args.slice(0, -3) ?? []
  assert.is(spawnSync(process.execPath, [...own, '--eval', '0']).status, 0)
})

test('once, and not where the operator gives options of his own', () => {
  assert.is(asked({ execArgv: [YOUNG] }), undefined)
  assert.is(asked({ execArgv: ['--max_semi_space_size=64'] }), undefined)
  assert.is(asked({ env: { NODE_OPTIONS: '--max-heap-size=900' } }), undefined)
  assert.is(asked({ env: { MALLOC_ARENA_MAX: '9' } })?.environment.MALLOC_ARENA_MAX, '9')
})

test('not for short commands, in a forked process, or where a process cannot be replaced', () => {
  assert.is(asked({ argv: ['node', 'bin.js', 'config'] }), undefined)
  for (const name of ['serve', 'import', 'reindex'])
    assert.is(asked({ argv: ['node', 'bin.js', name, 'x'] })?.args.at(-2), name)
  assert.is(asked({ connected: true }), undefined)
  assert.is(asked({ platform: 'win32' }), undefined)
  assert.is(asked({ execve: undefined }), undefined)
})

test('the process stays the same: its id, its output, and the exit code of a start that is refused', async () => {
  const child = spawn(process.execPath, ['--no-warnings', BIN, '--bind', 'nonsense'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close') as Promise<[number]>])
  assert.is(code, 2)
  assert.match(stderr, /server: /)
})

test('the heap grows less between collections the less memory there is', () => {
  const GIB = 1024 ** 3
  assert.equal([GIB / 4, GIB / 2, 2 * GIB, 3 * GIB].map(heapGrowthOf), [50, 100, 100, undefined])
})

/** Most bytes of the old generation while objects that live for a while are replaced by others. In a process of its own. */
const mostOld = async (bytes: number): Promise<number> => {
  const script = `
    const { boundHeap } = await import(${JSON.stringify(new URL('../../cli/bound-heap.ts', import.meta.url).href)})
    const { getHeapSpaceStatistics } = await import('node:v8')
    boundHeap(${bytes})
    const live = Array.from({ length: 400_000 }, (_, at) => ({ at, list: [at] }))
    let most = 0
    for (let n = 1; n <= 1_800_000; n += 1) {
      live[Math.floor(Math.random() * live.length)] = { at: n, list: [n] }
      if (n % 20_000 > 0) continue
      const spaces = getHeapSpaceStatistics()
      most = Math.max(most, spaces.find((one) => one.space_name === 'old_space').space_used_size)
    }
    process.stdout.write(String(most))`
  const args = ['--max-semi-space-size=2', '--input-type=module', '--eval', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [stdout] = await Promise.all([text(child.stdout), once(child, 'close')])
  return Number(stdout)
}

test('V8 heeds the bound of a process that runs already', async () => {
  const [bounded, free] = await Promise.all([mostOld(512 * 1024 ** 2), mostOld(8 * 1024 ** 3)])
  assert.ok(bounded > 0 && bounded < free * 0.8, `${bounded} of ${free} bytes`)
})

test.run()
