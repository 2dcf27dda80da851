/** Packages over HTTP: registries with lists, mirrors without, and what answers in their place. */
import { createHash } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createHttpClient, type HttpOptions } from '../../../plugins/packages/http.ts'
import { createRegistry } from '../../../plugins/packages/registry.ts'
import type { Download, PackageSource } from '../../../plugins/packages/source.ts'
import { startRegistry, type TestRegistry } from '../../support/registry.ts'
import { packageTgz } from '../../support/tgz.ts'

const { signal } = new AbortController()
const tgzOf = (version: string): Buffer => packageTgz({ name: 'test.pack', version })
const sourceAt = (address: string, options: Partial<HttpOptions> = {}): PackageSource =>
  createRegistry(address, createHttpClient({ fetch: globalThis.fetch, idleMs: 30_000, ...options }))

const bytesOf = async (download: Download | undefined): Promise<Buffer> => {
  assert.ok(download, 'nothing is offered')
  const parts: Uint8Array[] = []
  for await (const part of download.bytes) parts.push(part)
  return Buffer.concat(parts)
}
const refusal = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    assert.match((error as { key?: string }).key ?? 'no key', /^packages\//)
    assert.not.match((error as Error).message, /\n/)
    return (error as Error).message
  }
  throw new Error('it was not refused')
}

const withRegistry = suite<{ registry: TestRegistry; source: PackageSource }>('a source over HTTP')
withRegistry.before.each(async (context) => {
  context.registry = await startRegistry()
  context.source = sourceAt(context.registry.url)
})
withRegistry.after.each(({ registry }) => registry.stop())

const publish = (registry: TestRegistry, ...versions: string[]): void => {
  for (const version of versions) registry.publish({ name: 'test.pack', version, tgz: tgzOf(version) })
}

withRegistry(
  'gives the bytes of a version, its size, its address and every hash the list promises',
  async (context) => {
    const { registry, source } = context
    publish(registry, '1.0.0', '1.1.0')
    const download = await source.open('test.pack', '1.0.0', signal)
    assert.equal(await bytesOf(download), tgzOf('1.0.0'))
    assert.is(download?.from, `${registry.url}/test.pack/1.0.0`)
    assert.is(download?.size, tgzOf('1.0.0').length)
    assert.equal(
      download?.hashes.map(({ algorithm, hex }) => `${algorithm} ${hex}`),
      ['sha512', 'sha1'].map((name) => `${name} ${createHash(name).update(tgzOf('1.0.0')).digest('hex')}`),
    )
  },
)

withRegistry('resolves ranges, wildcards and latest with one request for the list', async ({ registry, source }) => {
  publish(registry, '4.0.0', '4.0.1', '4.0.2-ballot', '4.1.0', '5.0.0-ballot')
  const resolve = (spec: string) => source.resolve('test.pack', spec, signal)
  assert.is(await resolve('4.0.x'), '4.0.1')
  assert.is(await resolve('4.0'), '4.0.1')
  assert.is(await resolve('4.0.*'), '4.0.1')
  assert.is(await resolve('^4.0.0'), '4.1.0')
  assert.is(await resolve('~4.0.0'), '4.0.1')
  assert.is(await resolve('>=4.0.0 <4.1.0'), '4.0.1')
  assert.is(await resolve('x'), '4.1.0')
  assert.is(await resolve('9.x'), undefined)
  // The list of this registry tags the version published last.
  assert.is(await resolve('latest'), '5.0.0-ballot')
  assert.equal(registry.requests, ['GET /test.pack'])
})

withRegistry('takes the highest release for latest when the list tags none', async ({ registry, source }) => {
  const versions = Object.fromEntries(['1.0.0', '1.10.0', '1.9.0', '2.0.0-ballot'].map((version) => [version, {}]))
  registry.serve('/test.pack', JSON.stringify({ versions, 'dist-tags': ['2.0.0-ballot'] }), 'application/json')
  assert.is(await source.resolve('test.pack', 'latest', signal), '1.10.0')
})

withRegistry('answers undefined for a package or a version that is not there', async ({ registry, source }) => {
  publish(registry, '1.0.0')
  assert.is(await source.open('test.other', '1.0.0', signal), undefined)
  assert.is(await source.open('test.pack', '2.0.0', signal), undefined)
  assert.is(await source.resolve('test.other', '1.x', signal), undefined)
})

withRegistry('looks for files without a list only where no list was ever given', async ({ registry, source }) => {
  publish(registry, '1.0.0')
  assert.is(await source.open('test.first', '1.0.0', signal), undefined)
  assert.is(registry.requests.length, 5)
  assert.ok(await source.resolve('test.pack', '1.x', signal))
  registry.requests.length = 0
  assert.is(await source.open('test.other', '1.0.0', signal), undefined)
  assert.equal(registry.requests, ['GET /test.other'])
})

withRegistry('finds the files where a list names none', async ({ registry, source }) => {
  registry.serve('/test.pack', JSON.stringify({ versions: { '1.0.0': { name: 'test.pack' } } }), 'application/json')
  registry.serve('/test.pack/1.0.0', tgzOf('1.0.0'), 'application/octet-stream')
  assert.equal(await bytesOf(await source.open('test.pack', '1.0.0', signal)), tgzOf('1.0.0'))
})

for (const path of ['/test.pack/1.0.0', '/test.pack/1.0.0.tgz', '/test.pack-1.0.0.tgz', '/test.pack#1.0.0.tgz'])
  withRegistry(`reads ${path} from a mirror without lists`, async ({ registry, source }) => {
    registry.serve(path, tgzOf('1.0.0'), 'application/octet-stream')
    assert.equal(await bytesOf(await source.open('test.pack', '1.0.0', signal)), tgzOf('1.0.0'))
    assert.is(await source.open('test.pack', '2.0.0', signal), undefined)
  })

withRegistry('reads a mirror below a path whose directory pages are HTML', async ({ registry }) => {
  registry.serve('/mirror/fhir/test.pack', '<html>Index of', 'text/html')
  registry.serve('/mirror/fhir/test.pack/1.0.0.tgz', tgzOf('1.0.0'), 'application/gzip')
  const source = sourceAt(`${registry.url}/mirror/fhir/`)
  assert.equal(await bytesOf(await source.open('test.pack', '1.0.0', signal)), tgzOf('1.0.0'))
  assert.match(await refusal(source.resolve('test.pack', '1.x', signal)), 'a web page (HTML) instead of a package')
})

withRegistry('takes its own copy before one elsewhere that its list repeats', async ({ registry, source }) => {
  const tarball = 'http://out-of-reach.invalid/test.pack/1.0.0'
  registry.publish({ name: 'test.pack', version: '1.0.0', tgz: tgzOf('1.0.0'), dist: { tarball } })
  assert.equal(await bytesOf(await source.open('test.pack', '1.0.0', signal)), tgzOf('1.0.0'))
})

withRegistry('follows the list to another host when it has no copy, without its credentials', async ({ registry }) => {
  const elsewhere = await startRegistry()
  try {
    elsewhere.serve('/files/one.tgz', tgzOf('1.0.0'), 'application/gzip')
    const dist = { tarball: `${elsewhere.url}/files/one.tgz` }
    registry.serve('/test.pack', JSON.stringify({ versions: { '1.0.0': { dist } } }), 'application/json')
    const source = sourceAt(registry.url.replace('://', '://someone:s3cret%40x@'))
    assert.equal(await bytesOf(await source.open('test.pack', '1.0.0', signal)), tgzOf('1.0.0'))
    const basic = `Basic ${Buffer.from('someone:s3cret@x').toString('base64')}`
    assert.equal(registry.authorizations, [basic, basic])
    assert.equal(elsewhere.authorizations, [undefined])
    assert.not.match(source.where, 's3cret')
  } finally {
    await elsewhere.stop()
  }
})

withRegistry('follows redirects, and leaves credentials behind when they lead elsewhere', async ({ registry }) => {
  const elsewhere = await startRegistry()
  try {
    publish(registry, '1.0.0')
    elsewhere.serve('/one.tgz', tgzOf('1.0.0'), 'application/gzip')
    registry.answer('/test.pack/1.0.0', (_, response) =>
      response.writeHead(302, { location: `${elsewhere.url}/one.tgz` }).end(),
    )
    const source = sourceAt(registry.url.replace('://', '://someone:s3cret@'))
    const download = await source.open('test.pack', '1.0.0', signal)
    assert.equal(await bytesOf(download), tgzOf('1.0.0'))
    assert.is(download?.from, `${elsewhere.url}/one.tgz`)
    assert.equal(elsewhere.authorizations, [undefined])
  } finally {
    await elsewhere.stop()
  }
})

withRegistry('stops after five redirects', async ({ registry, source }) => {
  registry.answer('/test.pack', (_, response) => response.writeHead(301, { location: '/test.pack' }).end())
  assert.match(await refusal(source.open('test.pack', '1.0.0', signal)), 'redirected more than 5 times')
  assert.is(registry.requests.length, 6)
})

for (const [where, words] of [
  ['file:///etc/passwd', 'redirected from http to file'],
  ['http://me:you@127.0.0.1/', 'redirected to a URL with credentials'],
  ['http://', 'redirected to nowhere'],
] as const)
  withRegistry(`does not follow a redirect to ${where}`, async ({ registry, source }) => {
    registry.answer('/test.pack', (_, response) => response.writeHead(302, { location: where }).end())
    assert.match(await refusal(source.open('test.pack', '1.0.0', signal)), words)
  })

withRegistry('refuses a web page in place of the list, naming it', async ({ registry, source }) => {
  registry.serve('/test.pack', '<html>Sign in</html>', 'text/html; charset=utf-8')
  const message = await refusal(source.open('test.pack', '1.0.0', signal))
  assert.match(message, `The package test.pack@1.0.0 cannot be fetched from ${registry.url}/test.pack`)
  assert.match(message, 'a web page (HTML) instead of a package')
  assert.match(message, 'SERVER_PACKAGE_REGISTRY')
})

withRegistry('refuses a web page in place of the file, also under a false type', async ({ registry, source }) => {
  publish(registry, '1.0.0')
  for (const type of ['text/html', 'application/gzip']) {
    registry.serve('/test.pack/1.0.0', '<html>Sign in</html>', type)
    const download = await source.open('test.pack', '1.0.0', signal)
    assert.match(await refusal(bytesOf(download)), `${registry.url}/test.pack/1.0.0: it answered`)
  }
})

for (const status of [401, 403, 429, 500, 503])
  withRegistry(`names the status ${status} it is refused with`, async ({ registry, source }) => {
    registry.answer('/test.pack', (_, response) => response.writeHead(status).end())
    assert.match(await refusal(source.open('test.pack', '1.0.0', signal)), `it answered HTTP ${status}`)
  })

withRegistry('says that the connection broke in the middle of the file', async ({ registry, source }) => {
  publish(registry, '1.0.0')
  registry.answer('/test.pack/1.0.0', (_, response) => {
    response.writeHead(200, { 'content-length': 1000 })
    response.write(tgzOf('1.0.0').subarray(0, 50), () => response.destroy())
  })
  const download = await source.open('test.pack', '1.0.0', signal)
  assert.match(await refusal(bytesOf(download)), /the connection was closed too early|connection reset/)
})

withRegistry('gives up on a source that falls silent, before and in the middle of an answer', async ({ registry }) => {
  // Half a minute passes when the test says so.
  let pass = (): void => assert.unreachable()
  const timer: HttpOptions['timer'] = (run) => {
    pass = run
    return () => {
      pass = () => assert.unreachable()
    }
  }
  const source = sourceAt(registry.url, { timer })
  registry.answer('/test.silent', () => pass())
  assert.match(await refusal(source.open('test.silent', '1.0.0', signal)), 'it was silent for 30 s')
  publish(registry, '1.0.0')
  registry.answer('/test.pack/1.0.0', (_, response) => response.writeHead(200).write(tgzOf('1.0.0').subarray(0, 50)))
  const download = await source.open('test.pack', '1.0.0', signal)
  assert.is((await download?.bytes.next())?.value?.length, 50)
  const rest = refusal(bytesOf(download))
  await new Promise(setImmediate)
  pass()
  assert.match(await rest, 'it was silent for 30 s')
})

withRegistry('says that nobody listens there, and what to do', async ({ registry, source }) => {
  await registry.stop()
  const message = await refusal(source.open('test.pack', '1.0.0', signal))
  assert.match(message, `from ${registry.url}: connection refused`)
  for (const advice of ['package_registry', 'SERVER_PACKAGE_REGISTRY', '--package', 'proxy'])
    assert.match(message, advice)
})

withRegistry('says that the host name is not known', async () => {
  assert.match(
    await refusal(sourceAt('http://registry.invalid').open('test.pack', '1.0.0', signal)),
    /the host name (is not known|cannot be looked up now)/,
  )
})

withRegistry('says so when what answers is not HTTP', async () => {
  const server = createServer((socket) => socket.resume().end('220 smtp ready\r\n'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const source = sourceAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    assert.match(await refusal(source.open('test.pack', '1.0.0', signal)), 'cannot be fetched from')
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
})

withRegistry('stops when the server is stopping', async ({ registry, source }) => {
  const stopping = new AbortController()
  registry.answer('/test.pack', () => stopping.abort(new Error('stopping')))
  try {
    await source.open('test.pack', '1.0.0', stopping.signal)
    assert.unreachable()
  } catch (error) {
    assert.is((error as Error).message, 'stopping')
  }
})

withRegistry.run()
