/** Which cached versions are shown on PostgreSQL while writes overlap with reads, end out of order, or end unknown. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Database, Outcome, Transaction } from '../../../../plugins/database/service.ts'
import {
  createConsistentVersionCache,
  type GapSource,
} from '../../../../plugins/storage/cache/consistent-version-cache.ts'
import { StoredVersion } from '../../../../plugins/storage/version.ts'

const version = (ver: number, rid = 1): StoredVersion =>
  new StoredVersion('Patient', { rid, type: 1, id: `p${rid}`, ver, upd: ver, flags: 0, body: Buffer.alloc(10) })

const PATH = 'Patient/p1'

const open = () => {
  const state = { isSole: true }
  const database = { kind: 'postgres', isSole: () => state.isSole } as unknown as Database
  let publishGap: (at: { readonly epoch: number }) => void = () => undefined
  const feed: GapSource = {
    status: { epoch: 1 },
    listen(listener) {
      publishGap = (at) => listener.gap(at)
      return () => undefined
    },
  }
  const kept = createConsistentVersionCache(database, 100_000, feed)
  return {
    kept,
    state,
    gap: (epoch: number) => publishGap({ epoch }),
    shown: () => kept.getCurrent(PATH)?.version,
    /** Reads twice: a version that is read a second time is cached. */
    read(ver: number) {
      for (let n = 0; n < 2; n += 1) kept.reading(PATH)(version(ver))
    },
    /** A transaction that writes the version, and the function that ends it. */
    write(ver: number): (outcome: Outcome) => void {
      const listeners: ((outcome: Outcome) => void)[] = []
      const transaction = {
        afterEnd: (listener: (outcome: Outcome) => void) => listeners.push(listener),
      } as unknown as Transaction
      kept.writing(transaction, version(ver))
      return (outcome) => {
        for (const listener of listeners) listener(outcome)
      }
    },
  }
}

test('shows what was read twice, while nobody else can have written', () => {
  const { shown, read, state } = open()
  read(1)
  assert.is(shown(), 1)
  state.isSole = false
  assert.is(shown(), undefined)
  state.isSole = true
  assert.is(shown(), 1)
})

test('what is read while nobody knows who writes is not kept', () => {
  const { shown, read, state } = open()
  state.isSole = false
  read(1)
  state.isSole = true
  assert.is(shown(), undefined)
})

test('shows nothing of a resource that is being written, and then what was written', () => {
  const { shown, read, write } = open()
  read(1)
  const end = write(2)
  assert.is(shown(), undefined)
  read(1)
  assert.is(shown(), undefined, 'it may be committed already')
  end('committed')
  assert.is(shown(), 2)
})

test('what was undone is not shown', () => {
  const { shown, read, write, kept } = open()
  read(1)
  write(2)('undone')
  assert.is(shown(), undefined)
  assert.is(kept.getVersion(1, 2), undefined)
  read(1)
  assert.is(shown(), 1)
})

test('a read that began before a write ended is not kept', () => {
  const { kept, shown, read, write } = open()
  read(1)
  for (const outcome of ['committed', 'undone'] as const) {
    const before = kept.reading(PATH)
    const end = write(2)
    const meanwhile = kept.reading(PATH)
    end(outcome)
    const now = shown()
    before(version(1))
    meanwhile(version(1))
    assert.is(shown(), now, outcome)
  }
})

test('of two writes that overlap, heard of in any order, none is shown before the next read', () => {
  for (const order of [
    [2, 3],
    [3, 2],
  ]) {
    const { shown, read, write } = open()
    read(1)
    const ends = new Map([
      [2, write(2)],
      [3, write(3)],
    ])
    for (const ver of order) {
      ends.get(ver)?.('committed')
      assert.is(shown(), undefined, `${order} at ${ver}`)
    }
    read(3)
    assert.is(shown(), 3)
  }
})

test('a commit whose outcome is unknown keeps its resource from being shown, until the next epoch of the lease', () => {
  const { shown, read, write, gap, kept } = open()
  read(1)
  write(2)('unknown')
  read(1)
  assert.is(shown(), undefined, 'it may be committed a moment later')
  // A commit that is missing from the feed: the epoch goes on, and with it what was lost.
  gap(1)
  read(1)
  assert.is(shown(), undefined)
  write(3)('committed')
  assert.is(shown(), undefined)
  const under = kept.reading(PATH)
  gap(2)
  under(version(2))
  under(version(2))
  assert.is(shown(), undefined, 'it was read in the epoch before')
  read(2)
  assert.is(shown(), 2)
})

test('a gap of the feed drops what is kept, versions by number too', () => {
  const { kept, shown, read, gap, write } = open()
  read(1)
  const end = write(2)
  gap(1)
  end('committed')
  assert.is(kept.getVersion(1, 1), undefined)
  assert.is(shown(), undefined)
})

test('a gap of the feed drops what nobody has written meanwhile', () => {
  const { kept, shown, read, gap } = open()
  read(1)
  assert.is(shown(), 1)
  gap(2)
  assert.is(shown(), undefined)
  assert.is(kept.getVersion(1, 1), undefined)
})

test('a search keeps no version that is being written, as it may not be on disk', () => {
  const { kept, write } = open()
  const end = write(2)
  for (let n = 0; n < 3; n += 1) kept.putVersion(version(2))
  assert.is(kept.getVersion(1, 2), undefined)
  end('committed')
  for (let n = 0; n < 3; n += 1) kept.putVersion(version(2))
  assert.is(kept.getVersion(1, 2)?.version, 2)
})

test('a write in a transaction that has ended leaves no mark', () => {
  const { kept, shown, read } = open()
  const ended = {
    afterEnd() {
      throw new Error('ended')
    },
  } as unknown as Transaction
  assert.throws(() => kept.writing(ended, version(2)))
  read(1)
  assert.is(shown(), 1)
})

test.run()
