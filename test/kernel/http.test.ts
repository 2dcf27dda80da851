/** Requests and answers of the kernel itself: ids, errors as OperationOutcomes, what is logged of them, methods. */
import { Readable } from 'node:stream'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, defineError, type Hooks, type Kernel } from '../../kernel/index.ts'
import probes from '../../plugins/probes/index.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { connectTo } from '../support/raw-client.ts'

const Teapot = defineError('pot/teapot', 418, 'business-rule', 'The pot %s makes tea.')
const Broken = defineError('pot/broken', 500, 'exception', 'The pot is broken.')

/** Routes that answer, and that fail in every way. */
const pot: AnyPlugin = pluginOf('pot', ({ routes }) =>
  routes((app, _options, done) => {
    app.get('/who', async ({ ctx }) => ({
      id: ctx.id,
      url: ctx.url,
      base: ctx.baseUrl,
      own: ctx.ownUrl,
      address: ctx.address,
    }))
    app.get('/log', async ({ ctx }) => {
      ctx.log.info('brewing')
      return 'ok'
    })
    app.get('/teapot', async () => {
      throw Teapot('p1').with({ headers: { 'x-pot': 'p1' }, expression: ['Pot.kind'] })
    })
    app.get('/broken', async () => {
      throw Broken().with({ detail: 'the lid of p1', cause: new Error('porcelain') })
    })
    app.get('/unknown', async () => {
      throw new Error('password of the pantry')
    })
    app.get('/words', async () => {
      throw 'just words'
    })
    app.get('/uncloned', async () => {
      throw new DOMException('a lid cannot be cloned', 'DataCloneError') // its code is a number
    })
    app.post('/drink', async () => 'thanks')
    done()
  }),
)

const started = async (plugins: readonly AnyPlugin[] = [pot], settings: object = {}) => {
  const bare = await kernelWith(plugins, { settings })
  await bare.kernel.start()
  return bare
}

for (const id of ['a', 'abc-123', '4bf92f3577b34da6a3ce929d0e0e4736', 'A.b_c~d:e+f/g=h-i', 'x'.repeat(128)])
  test(`a well-formed X-Request-Id is kept: ${id.slice(0, 40)}`, async () => {
    const { kernel } = await started()
    const answer = await kernel.inject({ url: '/who', headers: { 'x-request-id': id } })
    assert.is(answer.headers['x-request-id'], id)
    assert.is(answer.json().id, id)
  })

for (const id of ['', ' ', 'a b', '-a', 'x'.repeat(129), 'a"b', 'a<b', 'a;b', 'a,b', 'ä', '{jndi:ldap}'])
  test(`an X-Request-Id that is not well-formed is replaced by a fresh one: ${JSON.stringify(id.slice(0, 40))}`, async () => {
    const { kernel } = await started()
    const answer = await kernel.inject({ url: '/who', headers: { 'x-request-id': id } })
    assert.match(answer.headers['x-request-id'] as string, /^[0-9a-f]{8}-[0-9a-f-]{27}$/)
    assert.is(answer.json().id, answer.headers['x-request-id'])
  })

test('without an X-Request-Id every request gets one of its own, refused ones too', async () => {
  const { kernel } = await started()
  const ids = new Set<unknown>()
  for (const url of ['/who', '/who', '/nothing', '/unknown'])
    ids.add((await kernel.inject(url)).headers['x-request-id'])
  assert.is(ids.size, 4)
  assert.not(ids.has(undefined))
})

test('what a handler logs carries the id of the request', async () => {
  const { kernel, lines } = await started()
  await kernel.inject({ url: '/log', headers: { 'x-request-id': 'brew-1' } })
  assert.is(lines.find(({ msg }) => msg === 'brewing')?.request, 'brew-1')
})

test('an error of a table is answered with its status, headers, code and expression, and is no news', async () => {
  const { kernel, lines } = await started()
  const answer = await kernel.inject('/teapot')
  assert.is(answer.statusCode, 418)
  assert.is(answer.headers['content-type'], 'application/fhir+json; charset=utf-8')
  assert.is(answer.headers['x-pot'], 'p1')
  assert.equal(answer.json(), {
    resourceType: 'OperationOutcome',
    issue: [
      { severity: 'error', code: 'business-rule', diagnostics: 'The pot p1 makes tea.', expression: ['Pot.kind'] },
    ],
  })
  assert.equal(lines, [])
})

test('an error of ours is logged with its detail and cause, and neither is sent', async () => {
  const { kernel, lines } = await started()
  const answer = await kernel.inject({ url: '/broken', headers: { 'x-request-id': 'r1' } })
  assert.is(answer.statusCode, 500)
  assert.is(answer.json().issue[0].diagnostics, 'The pot is broken.')
  assert.not.match(answer.body, /lid|porcelain/)
  const [line] = lines
  assert.equal(
    [line!.level, line!.request, line!.key, line!.plugin, line!.detail, line!.err.message],
    ['error', 'r1', 'pot/broken', 'pot', 'the lid of p1', 'porcelain'],
  )
})

for (const [url, message] of [
  ['/unknown', 'password of the pantry'],
  ['/words', 'it threw just words'],
  ['/uncloned', 'a lid cannot be cloned'],
] as const)
  test(`an unknown error is 500 without detail, and is logged with the plugin: ${url}`, async () => {
    const { kernel, lines } = await started()
    const answer = await kernel.inject(url)
    assert.is(answer.statusCode, 500)
    assert.equal(answer.json(), {
      resourceType: 'OperationOutcome',
      issue: [
        {
          severity: 'error',
          code: 'exception',
          diagnostics: 'The server failed to process the request. The cause is in its log under this request id.',
        },
      ],
    })
    const [line] = lines
    assert.equal([line!.level, line!.plugin, line!.err.message], ['error', 'pot', message])
    assert.is(line!.request, answer.headers['x-request-id'])
  })

for (const hook of ['beforeRequest', 'authenticate', 'admit'] as const)
  test(`an unknown error in a tap of ${hook} is 500 without detail, and is logged with plugin and hook`, async () => {
    const faulty = pluginOf('faulty', ({ hooks }) =>
      (hooks[hook] as Hooks['admit']).tapPromise('fail', async () => {
        throw new Error('password of the pantry')
      }),
    )
    const { kernel, lines } = await started([faulty, pot])
    const answer = await kernel.inject('/who')
    assert.is(answer.statusCode, 500)
    assert.not.match(answer.body, 'pantry')
    assert.equal([lines[0]!.plugin, lines[0]!.hook, lines[0]!.err.message], ['faulty', hook, 'password of the pantry'])
  })

test('an error in a route outside the request hooks is 500 without detail too', async () => {
  const bare = pluginOf('bare', ({ routes }) =>
    routes(
      (app, _options, done) => {
        app.get('/bare', async () => {
          throw new Error('password of the pantry')
        })
        done()
      },
      { bare: true },
    ),
  )
  const { kernel, lines } = await started([bare])
  const answer = await kernel.inject('/bare')
  assert.is(answer.statusCode, 500)
  assert.is(answer.json().resourceType, 'OperationOutcome')
  assert.not.match(answer.body, 'pantry')
  assert.is(lines[0]!.plugin, 'bare')
})

test('beforeRequest may answer itself, and then nobody else is asked', async () => {
  const asked: string[] = []
  const forwarding = pluginOf('forwarding', ({ hooks }) => {
    hooks.beforeRequest.tap('answer', () => ({ status: 207, headers: { 'x-from': 'elsewhere' }, body: 'there' }))
    hooks.authenticate.tap('note', () => void asked.push('authenticate'))
  })
  const { kernel } = await started([forwarding, pot])
  const answer = await kernel.inject('/who')
  assert.equal([answer.statusCode, answer.headers['x-from'], answer.body], [207, 'elsewhere', 'there'])
  assert.equal(asked, [])
})

test('an answer of beforeRequest that is a stream goes out whole, and the handler does not run', async () => {
  let handled = false
  const parts = ['one ', 'two ', 'three']
  const streaming = pluginOf('streaming', ({ hooks, routes }) => {
    hooks.beforeRequest.tapPromise('stream', async () => ({
      status: 200,
      body: Readable.from(
        (async function* () {
          for (const part of parts) {
            await new Promise(setImmediate)
            yield part
          }
        })(),
      ),
    }))
    routes(async (app) => {
      app.get('/here', async () => {
        handled = true
        return 'handled'
      })
    })
  })
  const { kernel, lines } = await started([streaming])
  assert.is((await kernel.inject('/here')).body, 'one two three')
  assert.not(handled)
  assert.equal(lines, [])
})

test('admit may refuse, with the caller known', async () => {
  const limiting = pluginOf('limiting', ({ hooks }) => {
    hooks.authenticate.tap('know', () => ({ kind: 'client', client: 'c1' }))
    hooks.admit.tap('refuse', ({ caller }) => Teapot(caller.client ?? 'nobody'))
  })
  const { kernel } = await started([limiting, pot])
  const answer = await kernel.inject('/who')
  assert.is(answer.statusCode, 418)
  assert.match(answer.body, 'The pot c1 makes tea.')
})

test('refusals of a starting server are no errors of ours', async () => {
  const { kernel, lines } = await kernelWith([pot])
  const answer = await kernel.inject('/who')
  assert.is(answer.statusCode, 503)
  assert.is(answer.headers['retry-after'], '1')
  assert.is(answer.json().issue[0].code, 'transient')
  assert.equal(lines, [])
})

test('an unknown address is 404, an unknown method 405 with Allow, both with an outcome', async () => {
  const { kernel } = await started()
  for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'] as const) {
    const answer = await kernel.inject({ method, url: '/nothing' })
    assert.equal([answer.statusCode, answer.json().issue[0].code], [404, 'not-found'])
  }
  const odd = await kernel.inject({ method: 'PROPFIND' as 'GET', url: '/who' })
  assert.equal([odd.statusCode, odd.headers.allow], [405, 'GET, HEAD'])
  assert.match(odd.json().issue[0].diagnostics, 'PROPFIND is not supported')
})

test('a slash at the end of an address of a plugin says nothing, unless a plugin says what', async () => {
  const bare = pluginOf('bare', ({ routes }) =>
    routes(
      (app, _options, done) => {
        app.get('/pulse', async () => 'alive')
        app.get('/beat', async () => 'beats')
        done()
      },
      { bare: true },
    ),
  )
  const second = pluginOf('second', ({ routes }) =>
    routes((app, _options, done) => {
      app.get('/cups/:cup', async ({ params }) => params)
      app.get('/tray/', async () => 'a tray')
      app.get('/spoon', async () => 'a spoon')
      app.get('/spoon/', async () => 'spoons')
      app.get('/files/*', async ({ params }) => params)
      app.post('/beat', async () => 'beaten')
      app.register(
        (inner, _innerOptions, innerDone) => {
          inner.addHook('onRequest', (_request, reply, next) => {
            reply.header('x-inner', 'yes')
            next()
          })
          inner.get('/rules', async ({ ctx }) => ctx.route)
          innerDone()
        },
        { prefix: '/house' },
      )
      done()
    }),
  )
  const { kernel } = await started([pot, bare, second])
  for (const [method, url, body] of [
    ['GET', '/pulse/', 'alive'],
    ['POST', '/drink/', 'thanks'],
    ['GET', '/cups/7/', '{"cup":"7"}'],
    ['GET', '/tray/', 'a tray'],
    ['GET', '/spoon', 'a spoon'],
    ['GET', '/spoon/', 'spoons'],
    ['GET', '/files/a/', '{"*":"a/"}'],
    ['GET', '/beat/', 'beats'],
    ['POST', '/beat/', 'beaten'],
    ['GET', '/house/rules/', '/house/rules'],
    ['GET', '/house/rules', '/house/rules'],
  ] as const) {
    const answer = await kernel.inject({ method, url })
    assert.is(answer.body, body, `${method} ${url}`)
    assert.is(answer.headers['x-inner'], url.startsWith('/house') ? 'yes' : undefined)
  }
  for (const [url, allow] of [
    ['/pulse', 'GET, HEAD'],
    ['/pulse/', 'GET, HEAD'],
    ['/who/', 'GET, HEAD'],
    ['/beat/', 'GET, HEAD, POST'],
    ['/house/rules/', 'GET, HEAD'],
  ] as const) {
    const answer = await kernel.inject({ method: 'DELETE', url })
    assert.is(answer.statusCode, 405, url)
    assert.is(String(answer.headers.allow).split(', ').sort().join(', '), allow)
    // A bare address passes no hook, whatever the method; so it has no id.
    assert.is(answer.headers['x-request-id'] === undefined, url.startsWith('/pulse'), url)
    const head = await kernel.inject({ method: 'HEAD', url })
    assert.equal([head.statusCode, head.body], [200, ''])
  }
  for (const url of ['/who//', '//who', '/tray']) assert.is((await kernel.inject(url)).statusCode, 404, url)
  await kernel.stop()
})

test('an address of a plugin answers methods that nobody takes there with 405 and those somebody does', async () => {
  const second = pluginOf('second', ({ routes }) =>
    routes((app, _options, done) => {
      app.put('/drink', async () => 'refilled')
      app.get('/cups/:cup', async () => 'a cup')
      done()
    }),
  )
  const { kernel } = await started([pot, second])
  for (const [method, url, allow] of [
    ['POST', '/who', 'GET, HEAD'],
    ['DELETE', '/who?x=1', 'GET, HEAD'],
    ['GET', '/drink', 'POST, PUT'],
    ['PATCH', '/cups/7', 'GET, HEAD'],
    ['OPTIONS', '/who', 'GET, HEAD'],
  ] as const) {
    const answer = await kernel.inject({ method, url })
    assert.is(answer.statusCode, 405, `${method} ${url}`)
    assert.equal(String(answer.headers.allow).split(', ').sort(), allow.split(', '))
    assert.is(answer.json().issue[0].code, 'not-supported')
  }
  assert.is((await kernel.inject({ method: 'PUT', url: '/drink' })).body, 'refilled')
  assert.is((await kernel.inject({ method: 'POST', url: '/drink' })).body, 'thanks')
  assert.is((await kernel.inject({ method: 'POST', url: '/nowhere' })).statusCode, 404)
  await kernel.stop()
})

test('HEAD answers as GET does, without the body; also for probes, for errors and for what is not there', async () => {
  const { kernel } = await started([pot, probes])
  for (const [url, status] of [
    ['/who', 200],
    ['/livez', 200],
    ['/readyz', 200],
    ['/teapot', 418],
    ['/nothing', 404],
  ] as const) {
    const head = await kernel.inject({ method: 'HEAD', url })
    assert.equal([url, head.statusCode, head.body], [url, status, ''])
    assert.is(head.headers['content-type'], (await kernel.inject(url)).headers['content-type'])
  }
})

test('a malformed URL is 400 with an outcome', async () => {
  const { kernel } = await started()
  const answer = await kernel.inject('/%ff%zz')
  assert.is(answer.statusCode, 400)
  assert.is(answer.json().resourceType, 'OperationOutcome')
})

test('links start with public_url when it is set, else with the Host that was asked', async () => {
  const plain = (await started()).kernel
  assert.is((await plain.inject({ url: '/who', headers: { host: 'a.test:81' } })).json().base, 'http://a.test:81')
  const set = (await started([pot], { server: { public_url: 'https://fhir.test/base//' } })).kernel
  assert.is((await set.inject({ url: '/who', headers: { host: 'a.test' } })).json().base, 'https://fhir.test/base')
})

test('own references are under public_url, else under the address that is listened at, else under none', async () => {
  const ownOf = async (kernel: Kernel): Promise<string | undefined> =>
    (await kernel.inject({ url: '/who', headers: { host: 'a.test:81' } })).json().own
  const plain = (await started([pot], { server: { bind: '127.0.0.1:0' } })).kernel
  assert.is(await ownOf(plain), undefined)
  const address = await plain.listen()
  assert.is(await ownOf(plain), address)
  await plain.stop()
  const set = (await started([pot], { server: { bind: '127.0.0.1:0', public_url: 'https://fhir.test/base//' } })).kernel
  assert.is(await ownOf(set), 'https://fhir.test/base')
  await set.listen()
  assert.is(await ownOf(set), 'https://fhir.test/base')
  await set.stop()
})

test('two X-Forwarded-For lines on the wire are read as one list', async () => {
  const { kernel } = await kernelWith([pot], {
    settings: { server: { bind: '127.0.0.1:0', trusted_proxy_hops: 1, trusted_proxy_peers: ['127.0.0.0/8'] } },
  })
  const address = await kernel.listen()
  await kernel.start()
  const client = await connectTo(address)
  client.send(
    'GET /who HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 6.6.6.6\r\nx-forwarded-for: 1.1.1.1\r\nconnection: close\r\n\r\n',
  )
  assert.match(await client.closed, '"address":"1.1.1.1"')
  await kernel.stop()
})

const mounting = async (routes: (app: any, options: object, done: (error?: Error) => void) => unknown) => {
  const { kernel } = await kernelWith([
    pot,
    pluginOf('guest', (host) => host.routes(routes as Parameters<typeof host.routes>[0])),
  ])
  try {
    await kernel.inject('/who')
  } catch (error) {
    return (error as Error).message
  }
  return 'mounted'
}

test('routes that cannot be mounted are refused with the name of their plugin', async () => {
  const refused = /^The routes of the plugin "guest" cannot be mounted: /
  assert.match(
    await mounting((app, _options, done) => {
      app.get('/who', async () => 'a second one')
      done()
    }),
    refused,
  )
  assert.match(
    await mounting(() => {
      throw new Error('no')
    }),
    /"guest" cannot be mounted: no$/,
  )
  assert.match(await mounting((_app, _options, done) => done(new Error('no'))), /"guest" cannot be mounted: no$/)
  assert.match(await mounting(async () => Promise.reject(new Error('no'))), /"guest" cannot be mounted: no$/)
})

test('an async routes function is mounted, and what it decorates stays inside', async () => {
  assert.is(
    await mounting(async (app) => {
      app.decorate('cups', 6)
      app.get('/cups', async () => 6)
    }),
    'mounted',
  )
  const decorating = (name: string) =>
    pluginOf(name, ({ routes }) =>
      routes((app, _options, done) => {
        app.decorate('cups', 6)
        done()
      }),
    )
  const { kernel } = await started([decorating('one'), decorating('two'), pot])
  assert.is((await kernel.inject('/who')).statusCode, 200)
})

test('many requests at once make one app', async () => {
  let mounted = 0
  const counting = pluginOf('counting', ({ routes }) =>
    routes((app, _options, done) => {
      mounted += 1
      app.get('/count', async () => mounted)
      done()
    }),
  )
  const { kernel } = await started([counting])
  await Promise.all([kernel.inject('/count'), kernel.inject('/count'), kernel.inject('/count')])
  assert.is(mounted, 1)
})

test.run()
