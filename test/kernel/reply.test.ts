/** What plugins add to answers: headers of several lines, in a Reply and on whatever answer follows. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Host, Reply } from '../../kernel/index.ts'
import { pluginOf } from '../support/kernel-with.ts'
import { listening } from '../support/listening.ts'

const COOKIES = ['session=1; HttpOnly', 'theme=dark']

const pages = ({ routes, direct }: Host): void => {
  routes((app, _options, done) => {
    app.get('/page', async () => 'page')
    app.get('/direct', async () => 'usual')
    done()
  })
  direct({
    path: '/direct',
    meet: (url) => (url === '/direct' ? url : undefined),
    answer: () => ({ status: 200, headers: ['content-type', 'text/plain'], body: 'direct' }),
  })
}

for (const [what, reply] of [
  ['a text', { status: 200, headers: { 'set-cookie': COOKIES, link: ['<a>', '<b>'], 'x-one': 'one' }, body: 'here' }],
  ['nothing', { status: 302, headers: { 'set-cookie': COOKIES, link: ['<a>', '<b>'], 'x-one': 'one' } }],
] as readonly (readonly [string, Reply])[])
  test(`a list in the headers of a Reply is sent as so many lines, with ${what} as body`, async () => {
    const { kernel, address } = await listening([
      pluginOf('answering', ({ hooks }) => hooks.beforeRequest.tap('answer', () => reply)),
      pluginOf('pages', pages),
    ])
    const answer = await fetch(`${address}/page`, { redirect: 'manual' })
    assert.is(answer.status, reply.status)
    assert.equal(answer.headers.getSetCookie(), COOKIES)
    assert.is(answer.headers.get('link'), '<a>, <b>')
    assert.is(answer.headers.get('x-one'), 'one')
    assert.is(await answer.text(), reply.body ?? '')
    await kernel.stop()
  })

test('a tap may set a header of several lines on whatever answer follows, in front of the router too', async () => {
  const { kernel, address } = await listening([
    pluginOf('setting', ({ hooks }) =>
      hooks.admit.tap('set cookies', (request) => {
        request.setHeader('set-cookie', COOKIES)
        return undefined
      }),
    ),
    pluginOf('pages', pages),
  ])
  for (const [path, status, body] of [
    ['/page', 200, 'page'],
    ['/direct', 200, 'direct'],
    ['/nothing', 404, undefined],
  ] as const) {
    const answer = await fetch(address + path)
    assert.is(answer.status, status)
    assert.equal(answer.headers.getSetCookie(), COOKIES, path)
    if (body !== undefined) assert.is(await answer.text(), body)
  }
  await kernel.stop()
})

test.run()
