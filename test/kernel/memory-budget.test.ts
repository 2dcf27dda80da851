/** What [server] memory_bytes is where it is not set, and the shares of it. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, createMemoryBudget, definePlugin, memoryLimit, threadHeapMegabytes } from '../../kernel/index.ts'

const MIB = 1024 ** 2
const GIB = 1024 * MIB

test('unset it is 400 MiB, or three quarters of a container or machine that has less', () => {
  assert.is(createMemoryBudget(undefined, 24 * GIB).bytes, 400 * MIB)
  assert.is(createMemoryBudget(undefined, 400 * MIB).bytes, 300 * MIB)
})

test('what the operator says counts, whatever the limit is', () => {
  assert.is(createMemoryBudget(2 * GIB, 400 * MIB).bytes, 2 * GIB)
})

test('the limit of a container counts where it is below the memory of the machine', () => {
  assert.is(memoryLimit(300 * MIB, 8 * GIB), 300 * MIB)
  // No limit: 0, or on cgroup v1 a number beyond every memory.
  assert.is(memoryLimit(0, 8 * GIB), 8 * GIB)
  assert.is(memoryLimit(2 ** 64, 8 * GIB), 8 * GIB)
})

test('a cache gets its usual bytes of 512 MiB, more or less of other budgets, and stays in its bounds', () => {
  const { share } = createMemoryBudget(256 * MIB)
  assert.is(share(32 * MIB), 16 * MIB)
  assert.is(share(32 * MIB, { least: 20 * MIB }), 20 * MIB)
  assert.is(createMemoryBudget(8 * GIB).share(32 * MIB, { most: 256 * MIB }), 256 * MIB)
})

test('a thread for a large body gets at most half of what the process may use', () => {
  assert.is(threadHeapMegabytes(2_048, 24 * GIB), 2_048)
  assert.is(threadHeapMegabytes(2_048, 512 * MIB), 256)
  assert.is(threadHeapMegabytes(2_048, 32 * MIB), 64)
})

test('plugins are given the budget that the setting says, and too little is refused', async () => {
  let seen = 0
  const looks = definePlugin({
    name: 'looks',
    setup({ memory }) {
      seen = memory.bytes
    },
  })
  const kernel = await createKernel({ plugins: [looks], settings: { server: { memory_bytes: GIB } } })
  assert.is(seen, GIB)
  assert.is(kernel.memory.bytes, GIB)
  const refused = await createKernel({ plugins: [looks], settings: { server: { memory_bytes: MIB } } }).then(
    () => '',
    (error: Error) => error.message,
  )
  assert.match(refused, /memory_bytes/)
  assert.match(refused, /134217728/)
})

test.run()
