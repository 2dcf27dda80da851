/** No module-level state anywhere: two kernels live in one process and know nothing of each other. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Kernel } from '../../kernel/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { basic } from '../support/server-with.ts'

const HEADERS = { 'content-type': 'application/fhir+json' }
const MEMORY = { database: { kind: 'memory' } }

const create = async (kernel: Kernel, family: string): Promise<string> => {
  const payload = JSON.stringify({ resourceType: 'Patient', name: [{ family }] })
  const answer = await kernel.inject({ method: 'POST', url: '/Patient', headers: HEADERS, payload })
  assert.is(answer.statusCode, 201, answer.body)
  return `/Patient/${answer.json().id}`
}

test('two kernels of the same plugins keep separate data, settings, hooks and logs, and stop separately', async () => {
  const seen: string[] = []
  const watching = pluginOf('watching', ({ hooks, log }) => {
    hooks.onWrite.tap('note', ({ next }) => {
      seen.push(next.id)
      log.info({ id: next.id }, 'written')
    })
  })
  const one = await kernelWith([...basic, watching], {
    settings: { ...MEMORY, conformance: { update_as_create: true } },
  })
  const two = await kernelWith(basic, { settings: MEMORY })
  await Promise.all([one.kernel.start(), two.kernel.start()])

  const inOne = await create(one.kernel, 'One')
  const inTwo = await create(two.kernel, 'Two')
  assert.is((await one.kernel.inject(inOne)).statusCode, 200)
  assert.is((await two.kernel.inject(inTwo)).statusCode, 200)
  assert.is((await one.kernel.inject(inTwo)).statusCode, 404)
  assert.is((await two.kernel.inject(inOne)).statusCode, 404)

  assert.equal(seen, [inOne.slice('/Patient/'.length)])
  assert.is(one.lines.filter(({ msg }) => msg === 'written').length, 1)
  assert.is(two.lines.filter(({ msg }) => msg === 'written').length, 0)

  const put = (kernel: Kernel) =>
    kernel.inject({
      method: 'PUT',
      url: '/Patient/p1',
      headers: HEADERS,
      payload: '{"resourceType":"Patient","id":"p1"}',
    })
  assert.is((await put(one.kernel)).statusCode, 201)
  assert.is((await put(two.kernel)).statusCode, 405)

  await one.kernel.stop()
  assert.is((await two.kernel.inject(inTwo)).statusCode, 200)
  assert.is(two.kernel.phase, 'ready')
  await two.kernel.stop()
})

test.run()
