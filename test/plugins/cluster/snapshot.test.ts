/** X-Snapshot: a change says which state has it, and a read that sends it back sees that state, here or at the primary. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Committed, definePlugin, type RequestContext } from '../../../kernel/index.ts'
import type { Epoch, Snapshot, SnapshotSource } from '../../../plugins/cluster/snapshot/snapshot-source.ts'
import { makeToken, readToken } from '../../../plugins/cluster/snapshot/snapshot-token.ts'
import { listening } from '../../support/listening.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { keyFor, relayingAs, replicaOf, standIn } from '../../support/relaying-servers.ts'
import { until } from '../../support/until.ts'

const KEY = keyFor('snapshot')
const TERM = 'the term of epoch'

/** Epochs 1 to 3, of which 2 ended with commit 20; looks are counted. */
class Source implements SnapshotSource {
  current: Snapshot | undefined = { epoch: 3, seq: 30 }
  /** What the next look finds. */
  found: Snapshot | undefined
  looks = 0
  isLate = false
  readonly #waiting = new Set<() => void>()

  get waiting(): number {
    return this.#waiting.size
  }
  epochOf(epoch: number): Epoch | undefined | Promise<Epoch | undefined> {
    const known =
      epoch < 1 || epoch > 3 ? undefined : { term: `${TERM} ${epoch}`, lastSeq: epoch === 3 ? undefined : epoch * 10 }
    return this.isLate ? Promise.resolve(known) : known
  }
  async look(): Promise<void> {
    this.looks += 1
    if (this.found === undefined) throw new Error('the database does not answer')
    this.current = this.found
  }
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done)
        resolve()
      }
      this.#waiting.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }
  move(snapshot: Snapshot): void {
    this.current = snapshot
    for (const done of [...this.#waiting]) done()
  }
}

const tokenOf = (epoch: number, seq: number, term = `${TERM} ${epoch}`, key = KEY): string =>
  makeToken(key, { epoch, seq }, term)

/** A read that is a direct answer where it can be, and a change that commits what it is told to. */
const pages = (commit: (request: RequestContext) => void = () => undefined) =>
  definePlugin({
    name: 'pages',
    setup: ({ routes, direct, run }) => {
      routes((app, _options, done) => {
        app.get('/page', { config: { relay: 'x-snapshot' } }, async () => 'routed')
        app.post('/change', { config: { relay: true } }, async ({ ctx }) => {
          commit(ctx)
          run.onCommit?.({ request: ctx, changes: [] } as Committed)
          return 'changed'
        })
        done()
      })
      direct({
        path: '/page',
        meet: (url) => (url === '/page' ? url : undefined),
        answer: () => ({ status: 200, headers: [], body: 'direct' }),
      })
    },
  })

const read = async (address: string, token?: string) => {
  const answer = await fetch(`${address}/page`, { headers: token === undefined ? {} : { 'x-snapshot': token } })
  return [answer.status, await answer.text(), answer.headers.get('x-snapshot')] as const
}
const isRefused = async (address: string, token: string, status: number, words: RegExp): Promise<void> => {
  const [got, text] = await read(address, token)
  assert.is(got, status, token)
  assert.match(text, words)
}

test('the primary tells with a change which state has it, and with nothing else', async () => {
  const source = new Source()
  const primary = await listening([
    relayingAs(undefined, { source }),
    pages(() => source.move({ epoch: 3, seq: source.current!.seq + 1 })),
  ])
  for (const seq of [31, 32]) {
    const answer = await fetch(`${primary.address}/change`, { method: 'POST' })
    assert.is(answer.headers.get('x-snapshot'), tokenOf(3, seq))
    await answer.text()
  }
  assert.equal(await read(primary.address), [200, 'direct', null])
  await primary.kernel.stop()
})

const MALFORMED = ['', '1', 'x', '1-3-30', '2-3-30-aaaaaaaaaaaaaaaaaaaaaa', '1-03-30-aaaaaaaaaaaaaaaaaaaaaa']
for (const isLate of [false, true])
  test(`what is no token is 400, one of another database 409${isLate ? ', also where the epoch is looked up' : ''}`, async () => {
    const source = new Source()
    source.isLate = isLate
    source.found = { epoch: 3, seq: 30 }
    const primary = await listening([relayingAs(undefined, { source }), pages()])
    const replica = await replicaOf(primary.address, { source, plugins: [pages()] })
    for (const { address } of [primary, replica]) {
      for (const token of [...MALFORMED, `${tokenOf(3, 30)}x`, `${tokenOf(3, 30)}, ${tokenOf(3, 30)}`])
        await isRefused(address, token, 400, /is not one that a server sends/)
      for (const token of [
        tokenOf(3, 30, 'another term'),
        tokenOf(3, 30, `${TERM} 3`, keyFor('relay')),
        tokenOf(4, 30),
        tokenOf(3, 29).replace('-29-', '-30-'),
        // Epoch 2 ended with commit 20: what came behind it was lost.
        tokenOf(2, 21),
      ])
        await isRefused(address, token, 409, /of another database, or of a state of this one that was lost/)
      for (const token of [tokenOf(3, 30), tokenOf(2, 20), tokenOf(1, 0)])
        assert.equal((await read(address, token)).slice(0, 1), [200], token)
    }
    await replica.kernel.stop()
    await primary.kernel.stop()
  })

test('a token that is newer than the primary is 409 there', async () => {
  const source = new Source()
  const primary = await listening([relayingAs(undefined, { source }), pages()])
  await isRefused(primary.address, tokenOf(3, 31), 409, /newer than the newest/)
  source.current = undefined
  await isRefused(primary.address, tokenOf(3, 30), 409, /newer than the newest/)
  await primary.kernel.stop()
})

test('a replica tells with each answer what it shows, and reads without a token are direct answers', async () => {
  const source = new Source()
  const { kernel, address } = await replicaOf('http://127.0.0.1:1', { source, plugins: [pages()] })
  assert.equal(await read(address), [200, 'direct', tokenOf(3, 30)])
  source.move({ epoch: 3, seq: 31 })
  assert.equal(await read(address), [200, 'direct', tokenOf(3, 31)])
  source.current = undefined
  assert.equal(await read(address), [200, 'direct', null])
  assert.is(source.looks, 0)
  await kernel.stop()
})

test('while its database is not open a replica tells nothing, and logs no error about it', async () => {
  const source = new Source()
  let isOpen = false
  const { kernel, address, lines } = await replicaOf('http://127.0.0.1:1', {
    ...{ source, hasKeys: () => isOpen, plugins: [pages()] },
  })
  assert.equal(await read(address), [200, 'direct', null])
  isOpen = true
  assert.equal(await read(address), [200, 'direct', tokenOf(3, 30)])
  assert.equal(
    lines.filter(({ level }) => level === 'error'),
    [],
  )
  await kernel.stop()
})

test('a read of a state that the replica has stays here; for a newer one it looks once', async () => {
  const source = new Source()
  const { kernel, address } = await replicaOf('http://127.0.0.1:1', { source, plugins: [pages()] })
  assert.equal((await read(address, tokenOf(3, 30))).slice(0, 2), [200, 'routed'])
  assert.is(source.looks, 0)
  source.found = { epoch: 3, seq: 32 }
  assert.equal((await read(address, tokenOf(3, 32))).slice(0, 2), [200, 'routed'])
  assert.is(source.looks, 1)
  await kernel.stop()
})

test('for a state of a later epoch it looks, though it has a higher number of an earlier one', async () => {
  const source = new Source()
  source.current = { epoch: 2, seq: 40 }
  source.found = { epoch: 3, seq: 31 }
  const { kernel, address } = await replicaOf('http://127.0.0.1:1', { source, plugins: [pages()] })
  assert.equal((await read(address, tokenOf(3, 30))).slice(0, 2), [200, 'routed'])
  assert.is(source.looks, 1)
  await kernel.stop()
})

test('it waits 200 ms for a newer state, and reads here once that is there', async () => {
  const source = new Source()
  const clock = createManualClock()
  const primary = await standIn((_request, response) => response.end('far'))
  const { kernel, address } = await replicaOf(primary.url, { source, clock, plugins: [pages()] })
  const reading = read(address, tokenOf(3, 32))
  await until(() => source.waiting === 1, 5_000, 'the wait')
  source.move({ epoch: 3, seq: 31 })
  await until(() => source.waiting === 1, 5_000, 'the second wait')
  await clock.advance(199)
  source.move({ epoch: 3, seq: 32 })
  assert.equal((await reading).slice(0, 2), [200, 'routed'])
  assert.is(primary.asked.length, 0)
  await kernel.stop()
  await primary.stop()
})

test('after 200 ms, or where the database does not answer, the primary is asked, with the token', async () => {
  const source = new Source()
  const clock = createManualClock()
  const primary = await standIn((_request, response) => response.end('far'))
  const { kernel, address } = await replicaOf(primary.url, { source, clock, plugins: [pages()] })
  const token = tokenOf(3, 32)
  const reading = read(address, token)
  await until(() => source.waiting === 1, 5_000, 'the wait')
  await clock.advance(200)
  assert.equal(await reading, [200, 'far', token])
  assert.is(primary.asked[0]!.headers['x-snapshot'], token)
  assert.is(source.looks, 1)
  await kernel.stop()
  await primary.stop()
})

test('a token that nobody can have yet is refused by the primary, through the replica', async () => {
  const source = new Source()
  const clock = createManualClock()
  const primary = await listening([relayingAs(undefined, { source: new Source() }), pages()], { clock })
  const replica = await replicaOf(primary.address, { source, clock, plugins: [pages()] })
  const reading = read(replica.address, tokenOf(3, 99))
  await until(() => source.waiting === 1, 5_000, 'the wait')
  await clock.advance(200)
  const [status, text] = await reading
  assert.is(status, 409)
  assert.match(text, /newer than the newest/)
  await replica.kernel.stop()
  await primary.kernel.stop()
})

test('a change with a token goes to the primary at once, and its own token comes back', async () => {
  const source = new Source()
  const theirs = new Source()
  const primary = await listening([
    relayingAs(undefined, { source: theirs }),
    pages(() => theirs.move({ epoch: 3, seq: 31 })),
  ])
  const replica = await replicaOf(primary.address, { source, plugins: [pages()] })
  const answer = await fetch(`${replica.address}/change`, {
    method: 'POST',
    headers: { 'x-snapshot': tokenOf(3, 30) },
  })
  assert.equal([answer.status, await answer.text()], [200, 'changed'])
  assert.is(answer.headers.get('x-snapshot'), tokenOf(3, 31))
  assert.is(source.looks, 0)
  await replica.kernel.stop()
  await primary.kernel.stop()
})

test('a client that leaves while its read waits ends the wait', async () => {
  const source = new Source()
  const clock = createManualClock()
  const primary = await standIn((_request, response) => response.end('far'))
  const { kernel, address } = await replicaOf(primary.url, { source, clock, plugins: [pages()] })
  const controller = new AbortController()
  const headers = { 'x-snapshot': tokenOf(3, 32) }
  const reading = fetch(`${address}/page`, { headers, signal: controller.signal }).catch(() => 'left')
  await until(() => source.waiting === 1, 5_000, 'the wait')
  controller.abort()
  assert.is(await reading, 'left')
  await until(() => source.waiting === 0, 5_000, 'the end of the wait')
  assert.is(primary.asked.length, 0)
  await kernel.stop()
  await primary.stop()
})

test('tokens are read back exactly as they were made', () => {
  for (const snapshot of [
    { epoch: 1, seq: 0 },
    { epoch: 999_999_999_999_999, seq: 999_999_999_999_999 },
  ]) {
    const token = makeToken(KEY, snapshot, 't')
    assert.equal(readToken(token)?.snapshot, snapshot)
    assert.is(readToken(token)?.isOf(KEY, 't'), true)
    assert.is(readToken(token)?.isOf(KEY, 'u'), false)
  }
})

test.run()
