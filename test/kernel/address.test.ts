/** The client's address. Spec: [server] trusted_proxy_hops, trusted_proxy_peers. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createAddressReader } from '../../kernel/address.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'

const PEERS = ['10.0.0.0/8', '2001:db8:1::/48', '192.0.2.7']
const PROXY = '10.0.0.1'

const read = (peer: string, forwarded: string | readonly string[] | undefined, hops: number): string =>
  createAddressReader({ hops, peers: PEERS })(peer, forwarded)

const ROWS: readonly (readonly [string, string | readonly string[] | undefined, number, string])[] = [
  // Without hops the header counts for nothing.
  [PROXY, '1.1.1.1', 0, PROXY],
  [PROXY, '6.6.6.6, 1.1.1.1', 0, PROXY],
  [PROXY, '<script>', 0, PROXY],
  // What stands further left is the client's own text.
  [PROXY, '6.6.6.6, 1.1.1.1', 1, '1.1.1.1'],
  [PROXY, ['6.6.6.6', '1.1.1.1'], 1, '1.1.1.1'],
  [PROXY, '6.6.6.6,1.1.1.1', 1, '1.1.1.1'],
  [PROXY, '6.6.6.6, 1.1.1.1, 10.0.0.9', 2, '1.1.1.1'],
  [PROXY, ['6.6.6.6, 1.1.1.1', '10.0.0.9'], 2, '1.1.1.1'],
  // Too short, missing or no address: the connection's.
  [PROXY, '1.1.1.1', 2, PROXY],
  [PROXY, undefined, 1, PROXY],
  [PROXY, '', 1, PROXY],
  [PROXY, '1.1.1.1, ', 1, PROXY],
  [PROXY, 'unknown', 1, PROXY],
  [PROXY, '<script>', 1, PROXY],
  [PROXY, '0127.0.0.1', 1, PROXY],
  [PROXY, '1.1.1', 1, PROXY],
  [PROXY, '1.1.1.1:', 1, PROXY],
  [PROXY, '1.1.1.1:x', 1, PROXY],
  [PROXY, '1.1.1.1:70000', 1, PROXY],
  [PROXY, '[1.1.1.1]', 1, PROXY],
  [PROXY, '[2001:db8::7', 1, PROXY],
  [PROXY, '2001:db8::7]', 1, PROXY],
  [PROXY, 'fe80::1%eth0', 1, PROXY],
  [PROXY, 'fe80::1%<script>', 1, PROXY],
  // Only peers are believed.
  ['8.8.8.8', '1.1.1.1', 1, '8.8.8.8'],
  ['192.0.2.8', '1.1.1.1', 1, '192.0.2.8'],
  ['192.0.2.7', '1.1.1.1', 1, '1.1.1.1'],
  ['2001:db8:1::5', '1.1.1.1', 1, '1.1.1.1'],
  ['2001:db8:2::5', '1.1.1.1', 1, '2001:db8:2::5'],
  ['::ffff:10.0.0.1', '1.1.1.1', 1, '1.1.1.1'],
  ['::ffff:8.8.8.8', '1.1.1.1', 1, '8.8.8.8'],
  // Ports, brackets, and one spelling for one client.
  [PROXY, '[2001:db8::7]:443', 1, '2001:db8::7'],
  [PROXY, '[2001:db8::7]', 1, '2001:db8::7'],
  [PROXY, '1.1.1.1:5555', 1, '1.1.1.1'],
  [PROXY, '::ffff:1.1.1.1', 1, '1.1.1.1'],
  [PROXY, '::ffff:101:101', 1, '1.1.1.1'],
  [PROXY, '2001:DB8:0:0::7', 1, '2001:db8::7'],
  ['fe80::1%eth0', undefined, 0, 'fe80::1%eth0'],
  // A socket that has no address.
  ['', '1.1.1.1', 1, ''],
]

for (const [peer, forwarded, hops, client] of ROWS)
  test(`from ${peer || 'no address'} with ${JSON.stringify(forwarded)} and ${hops} hops the client is ${client || 'unknown'}`, () => {
    assert.is(read(peer, forwarded, hops), client)
  })

for (const peer of [
  '10.0.0.0/33',
  '10.0.0.0/',
  '10.0.0.0/-1',
  '10.0.0.0/1e1',
  '10.0.0.0/8/8',
  '10.0.0',
  'proxy.test',
  '',
  '2001:db8::/129',
  '10.0.0.0/8 ',
])
  test(`"${peer}" is refused as a network range`, () => {
    assert.throws(
      () => createAddressReader({ hops: 1, peers: [peer] }),
      `[server] trusted_proxy_peers: "${peer}" is not a network range; write 10.0.0.0/8 or 2001:db8::/32.`,
    )
  })

test('a refused range stops the start', async () => {
  try {
    await kernelWith([], { settings: { server: { trusted_proxy_hops: 1, trusted_proxy_peers: ['10.0.0.0/99'] } } })
    assert.unreachable()
  } catch (error) {
    assert.match((error as Error).message, '"10.0.0.0/99" is not a network range')
  }
})

const addressOver = async (headers: Record<string, string | string[]>, remoteAddress = PROXY): Promise<string> => {
  const { kernel } = await kernelWith(
    [
      pluginOf('who', ({ routes }) =>
        routes((app, _options, done) => {
          app.get('/who', async (request) => request.ctx.address)
          done()
        }),
      ),
    ],
    { settings: { server: { trusted_proxy_hops: 1, trusted_proxy_peers: PEERS } } },
  )
  await kernel.start()
  const answer = await kernel.inject({ url: '/who', headers, remoteAddress })
  await kernel.stop()
  return answer.body
}

test('a request carries the address read from its header', async () => {
  assert.is(await addressOver({ 'x-forwarded-for': '6.6.6.6, 1.1.1.1' }), '1.1.1.1')
  assert.is(await addressOver({ 'x-forwarded-for': '6.6.6.6, 1.1.1.1' }, '8.8.8.8'), '8.8.8.8')
})

test('Forwarded, X-Real-IP and True-Client-IP are ignored', async () => {
  const headers = { forwarded: 'for=6.6.6.6', 'x-real-ip': '6.6.6.6', 'true-client-ip': '6.6.6.6' }
  assert.is(await addressOver(headers), PROXY)
})

test.run()
