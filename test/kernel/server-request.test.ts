/** Requests that the server makes itself: `host.request`. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Host, RequestContext } from '../../kernel/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { createManualClock } from '../support/manual-clock.ts'

const hostOf = async (settings: Record<string, unknown> = {}) => {
  let host: Host | undefined
  const clock = createManualClock()
  const { kernel, lines } = await kernelWith(
    [
      pluginOf('own', (given) => {
        host = given
      }),
    ],
    { settings, clock },
  )
  return { host: host as Host, kernel, lines, clock }
}

test('a request of the server names its caller and purpose, and has an id and a time of its own', async () => {
  const { host, clock, lines } = await hostOf({ server: { public_url: 'https://fhir.example.org/r4/' } })
  const caller = { kind: 'client', client: 'app' } as const
  const one = host.request({ caller, purpose: 'export' })
  await clock.advance(5)
  const other = host.request({ caller, purpose: 'export', requestClass: 'export' })
  assert.instance(one, RequestContext)
  assert.equal(
    [one.origin, one.method, one.url, one.route, one.address, one.requestClass, one.caller],
    ['server', 'POST', '/-/export', undefined, '', 'operation', caller],
  )
  assert.is(other.requestClass, 'export')
  assert.is.not(one.id, other.id)
  assert.is(other.startedAt - one.startedAt, 5)
  assert.equal([one.baseUrl, one.ownUrl], ['https://fhir.example.org/r4', 'https://fhir.example.org/r4'])
  assert.is(
    host.request({ caller, purpose: 'x', baseUrl: 'https://other.example.org' }).baseUrl,
    'https://other.example.org',
  )
  one.setHeader('x-a', 'b') // there is no answer to add it to
  one.log.info('said')
  assert.is(lines.at(-1)?.request, one.id)
})

test('its signal is the one that is given, or one that never aborts', async () => {
  const { host } = await hostOf()
  const caller = { kind: 'internal' } as const
  const controller = new AbortController()
  assert.is(host.request({ caller, purpose: 'a', signal: controller.signal }).signal, controller.signal)
  assert.is(host.request({ caller, purpose: 'a' }).signal.aborted, false)
})

test('without a public URL its links begin with the address that the server listens at', async () => {
  const { host, kernel } = await hostOf({ server: { bind: '127.0.0.1:0' } })
  const caller = { kind: 'internal' } as const
  const early = host.request({ caller, purpose: 'a' })
  assert.equal([early.baseUrl, early.ownUrl], ['http://localhost', undefined])
  const address = await kernel.listen()
  await kernel.start()
  const { baseUrl, ownUrl } = host.request({ caller, purpose: 'a' })
  assert.equal([baseUrl, ownUrl], [address, address])
  await kernel.stop()
})

test('a purpose is a word of the plugin, not what somebody sent', async () => {
  const { host } = await hostOf()
  for (const purpose of ['', 'a b', 'a/b', '../x', 'ä', 'x'.repeat(65)])
    assert.throws(
      () => host.request({ caller: { kind: 'internal' }, purpose }),
      'The plugin "own" makes a request of the server for a purpose that is none: 1 to 64 letters, digits, dots, hyphens or underscores.',
      purpose,
    )
})

test('a request of HTTP says so', async () => {
  const origins: string[] = []
  const { kernel } = await kernelWith([
    pluginOf('own', ({ hooks }) => {
      hooks.beforeRequest.tap('note', ({ origin }) => {
        origins.push(origin)
        return { status: 204 }
      })
    }),
  ])
  await kernel.start()
  await kernel.inject('/')
  assert.equal(origins, ['http'])
  await kernel.stop()
})

test.run()
