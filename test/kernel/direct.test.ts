/** Answers in front of the router: when they are asked for, and what becomes of what they leave. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, type DirectRoute, defineError, type Host, type Usage } from '../../kernel/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { exchange } from '../support/raw-http.ts'
import type { Answer } from '../support/refused.ts'

const Refused = defineError('test/refused', 409, 'conflict', 'Not now.')
const SETTINGS = { settings: { server: { bind: '127.0.0.1:0' } } }

/** A page that says who made it. */
const pages = (direct: Partial<DirectRoute<string>> = {}, more?: (host: Host) => void) => {
  const used: Usage[] = []
  const plugin = pluginOf('pages', (host) => {
    host.hooks.meter.tap('note', (usage) => void used.push(usage))
    host.routes((app, _options, done) => {
      app.get('/:kind/:name', { config: { requestClass: 'search' } }, async () => 'usual')
      done()
    })
    host.direct({
      path: '/:kind/:name',
      meet: (url) => url,
      answer: () => ({ status: 200, headers: ['content-type', 'text/plain'], body: 'direct' }),
      ...direct,
    })
    more?.(host)
  })
  return { plugin, used }
}

const get = (url: string): string => `GET ${url} HTTP/1.1\r\nhost: a\r\n\r\n`

const bodyOf = async (plugins: readonly AnyPlugin[], url: string) => {
  const { kernel } = await kernelWith(plugins, SETTINGS)
  try {
    const address = await kernel.listen()
    await kernel.start()
    const { answers } = await exchange(address, get(url), 1)
    return answers[0]?.body
  } finally {
    await kernel.stop()
  }
}

test('a request that is met is answered, with the route and the class of the route behind it', async () => {
  const { plugin, used } = pages()
  const { kernel } = await kernelWith([plugin], SETTINGS)
  const address = await kernel.listen()
  await kernel.start()
  const { answers } = await exchange(address, get('/page/one'), 1)
  assert.is(answers[0]?.body, 'direct')
  const { date: _date, 'x-request-id': id, ...headers } = answers[0]?.headers ?? {}
  assert.equal(headers, {
    'x-content-type-options': 'nosniff',
    'content-type': 'text/plain',
    'content-length': '6',
    connection: 'keep-alive',
    'keep-alive': 'timeout=65',
  })
  await kernel.stop()
  assert.equal(
    used.map(({ status, request }) => [status, request.id, request.route, request.requestClass]),
    [[200, id, '/:kind/:name', 'search']],
  )
})

test('what is not met is for the router', async () => {
  assert.is(await bodyOf([pages({ meet: () => undefined }).plugin], '/page/one'), 'usual')
})

test('while the server starts nothing is met', async () => {
  const ready = Promise.withResolvers<void>()
  let asked = 0
  const { plugin } = pages({
    meet(url) {
      asked += 1
      return url
    },
  })
  const { kernel } = await kernelWith([plugin, pluginOf('slow', () => ({ start: () => ready.promise }))], SETTINGS)
  const address = await kernel.listen()
  const early = await exchange(address, get('/page/one'), 1)
  assert.is(early.answers[0]?.statusCode, 503)
  assert.is(asked, 0)
  ready.resolve()
  await kernel.start()
  assert.is((await exchange(address, get('/page/one'), 1)).answers[0]?.body, 'direct')
  await kernel.stop()
})

test('what another plugin has a route for is its own', async () => {
  const other = pluginOf('other', ({ routes }) => {
    routes((app, _options, done) => {
      app.get('/page/:name', async () => 'other')
      app.get('/alone', async () => 'other')
      done()
    })
  })
  assert.is(await bodyOf([pages().plugin, other], '/page/one'), 'other')
  assert.is(await bodyOf([pages().plugin, other], '/book/one'), 'direct')
})

test('where it cannot be told whose an address is, the router is asked', async () => {
  for (const url of ['/:kind/one', '/pa*']) {
    const other = pluginOf('other', ({ routes }) => {
      routes((app, _options, done) => {
        app.get(url, async () => 'other')
        done()
      })
    })
    assert.is(await bodyOf([pages().plugin, other], '/page/one'), 'other')
    assert.is(await bodyOf([pages().plugin, other], '/book/two'), 'usual')
  }
})

test('a direct way to a route that the plugin does not have stops the start, by name', async () => {
  const { kernel } = await kernelWith([pages({ path: '/page/:name' }).plugin], SETTINGS)
  try {
    await kernel.listen()
    assert.unreachable()
  } catch (error) {
    assert.match((error as Error).message, /"pages".*\/page\/:name/)
  }
  await kernel.stop()
})

test('it is declared in setup only', async () => {
  let host: Host | undefined
  const { plugin } = pages({}, (one) => {
    host = one
  })
  await kernelWith([plugin])
  assert.throws(
    () => host?.direct({ path: '/', meet: () => undefined, answer: () => ({ status: 200, headers: [] }) }),
    /direct/,
  )
})

test('an answer that comes later is sent, one that fails is a refusal, and none is asked twice', async () => {
  let asked = 0
  const { plugin, used } = pages({
    answer(_ctx, url) {
      asked += 1
      if (url === '/page/throws') throw Refused().with({ headers: { 'retry-after': '1' } })
      if (url === '/page/rejects') return Promise.reject(Refused())
      if (url === '/page/bug') throw new Error('a bug')
      return Promise.resolve({ status: 203, headers: ['x-late', 'yes'], body: Buffer.from('late') })
    },
  })
  const { kernel, lines } = await kernelWith([plugin], SETTINGS)
  const address = await kernel.listen()
  await kernel.start()
  const answers: Answer[] = []
  for (const name of ['late', 'throws', 'rejects', 'bug'])
    answers.push(...(await exchange(address, get(`/page/${name}`), 1)).answers)
  await kernel.stop()
  assert.equal(
    answers.map(({ statusCode }) => statusCode),
    [203, 409, 409, 500],
  )
  assert.is(answers[0]?.body, 'late')
  assert.is(answers[0]?.headers['x-late'], 'yes')
  assert.is(answers[1]?.headers['retry-after'], '1')
  assert.is(asked, 4)
  assert.equal(
    used.map(({ status }) => status),
    [203, 409, 409, 500],
  )
  assert.is(lines.find(({ level }) => level === 'error')?.plugin, 'pages')
})

test('the handler of a bare server answers directly, an app of somebody else by its router', async () => {
  const { kernel } = await kernelWith([pages().plugin])
  await kernel.start()
  const server = createServer(kernel.handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  // The first request mounts the routes.
  const bodies = [await exchange(address, get('/page/1'), 1), await exchange(address, get('/page/2'), 1)]
  assert.equal(
    bodies.map(({ answers }) => answers[0]?.body),
    ['direct', 'direct'],
  )
  server.close()
  await kernel.stop()

  const { kernel: other } = await kernelWith([pages().plugin])
  const host = fastify()
  host.register(other.fastify, { prefix: '/fhir' })
  await host.ready()
  await other.start()
  assert.is((await host.inject('/fhir/page/one')).body, 'usual')
  await host.close()
})

test.run()
