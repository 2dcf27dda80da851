/** /livez, /readyz and /healthz. Spec: Endpoints, States and transitions. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, definePlugin, type Kernel, systemClock } from '../../../kernel/index.ts'
import probes from '../../../plugins/probes/index.ts'
import { serverWith } from '../../support/server-with.ts'

/** A plugin whose start and check are in the test's hands. */
const controlled = () => {
  const control = {
    checks: 0,
    answer: async (_signal: AbortSignal): Promise<boolean> => true,
    finishStart: (): void => undefined,
  }
  const started = new Promise<void>((resolve) => {
    control.finishStart = resolve
  })
  const plugin = definePlugin({
    name: 'controlled',
    setup({ readiness, busy }) {
      readiness('the thing does not answer', (signal) => {
        control.checks += 1
        return control.answer(signal)
      })
      return {
        start: () => {
          busy('warming up')
          return started
        },
      }
    },
  })
  return { control, plugin }
}

let monotonic = 0
const deadlines: { ms: number; end(): void }[] = []
const clock = {
  ...systemClock,
  monotonic: () => monotonic,
  deadline: (ms: number) => {
    const controller = new AbortController()
    deadlines.push({ ms, end: () => controller.abort() })
    return controller.signal
  },
}
const kernelWith = async (plugin: ReturnType<typeof controlled>['plugin']): Promise<Kernel> =>
  createKernel({ plugins: [plugin, probes], clock, log: { level: 'silent' } })

test('while starting, /livez is 200 and /readyz 503 with the reason; other requests are 503 with an outcome', async () => {
  const { control, plugin } = controlled()
  const kernel = await kernelWith(plugin)
  const ready = kernel.start()
  assert.is((await kernel.inject('/livez')).body, '{"status":"ok"}')
  const starting = await kernel.inject('/readyz')
  assert.is(starting.statusCode, 503)
  assert.equal(starting.json(), { status: 'starting', reason: 'warming up' })
  assert.is((await kernel.inject('/healthz')).statusCode, 503)
  const other = await kernel.inject('/Patient/1')
  assert.is(other.statusCode, 503)
  assert.is(other.json().issue[0].code, 'transient')
  assert.is(control.checks, 0)
  control.finishStart()
  await ready
  assert.equal((await kernel.inject('/readyz')).json(), { status: 'ok' })
  await kernel.stop()
})

test('a failing check is 503 with its fixed reason, the cause goes to no answer, and recovery is noticed', async () => {
  const { control, plugin } = controlled()
  const kernel = await kernelWith(plugin)
  control.finishStart()
  await kernel.start()
  control.answer = async () => {
    throw new Error('password=hunter2')
  }
  const failing = await kernel.inject('/readyz')
  assert.is(failing.statusCode, 503)
  assert.equal(failing.json(), { status: 'unavailable', reason: 'the thing does not answer' })
  assert.is((await kernel.inject('/livez')).statusCode, 200)
  control.answer = async () => true
  monotonic += 1_001
  assert.is((await kernel.inject('/readyz')).statusCode, 200)
  await kernel.stop()
})

test('a result is used for one second and overlapping probes share one check', async () => {
  const { control, plugin } = controlled()
  const kernel = await kernelWith(plugin)
  control.finishStart()
  await kernel.start()
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  control.answer = () => gate.then(() => true)
  const overlapping = Promise.all([kernel.inject('/readyz'), kernel.inject('/readyz'), kernel.inject('/healthz')])
  setImmediate(() => setImmediate(release))
  assert.equal(
    (await overlapping).map(({ statusCode }) => statusCode),
    [200, 200, 200],
  )
  assert.is(control.checks, 1)
  monotonic += 999
  await kernel.inject('/readyz')
  assert.is(control.checks, 1)
  monotonic += 2
  await kernel.inject('/readyz')
  assert.is(control.checks, 2)
  await kernel.stop()
})

test('a check that hangs counts as failed when its two seconds are over', async () => {
  const { control, plugin } = controlled()
  const kernel = await kernelWith(plugin)
  control.finishStart()
  await kernel.start()
  control.answer = () => new Promise(() => undefined)
  deadlines.length = 0
  const answering = kernel.inject('/readyz')
  while (deadlines.length === 0) await new Promise(setImmediate)
  assert.is(deadlines[0]?.ms, 2_000)
  deadlines[0]?.end()
  assert.is((await answering).statusCode, 503)
  await kernel.stop()
})

test('probes carry no request id, are not logged, and /healthz gives the role, with verbose=1 the counters', async () => {
  const server = await serverWith()
  const before = server.lines.length
  const health = await server.inject('/healthz?verbose=1')
  const body = health.json()
  assert.is(health.headers['x-request-id'], undefined)
  assert.is(body.status, 'ok')
  assert.is(body.role, 'primary')
  assert.ok(body.pool.size >= 0)
  assert.ok(body.commits.transactions >= 0)
  assert.equal((await server.inject('/healthz')).json(), { status: 'ok', role: 'primary' })
  assert.is(server.lines.length, before)
  await server.stop()
})

for (const path of ['/livez', '/readyz', '/healthz'])
  test(`${path} refuses other methods with 405, and takes a slash at its end`, async () => {
    const { control, plugin } = controlled()
    const kernel = await kernelWith(plugin)
    const ready = kernel.start()
    control.finishStart()
    await ready
    for (const url of [path, `${path}/`, `${path}?x=1`]) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
        const refused = await kernel.inject({ method, url, headers: { 'content-type': 'text/none' }, payload: '{' })
        assert.is(refused.statusCode, 405, `${method} ${url} ${refused.body}`)
        assert.is(refused.headers.allow, 'GET, HEAD')
        assert.is(refused.json().issue[0].code, 'not-supported')
      }
      const [given, head] = [await kernel.inject(url), await kernel.inject({ method: 'HEAD', url })]
      assert.is(given.statusCode, 200, url)
      assert.equal(given.json(), (await kernel.inject(path)).json())
      assert.equal([head.statusCode, head.body], [200, ''])
    }
    await kernel.stop()
  })

test.run()
