/** Readiness. Spec: States and transitions, readiness of a process; Limits, other constants. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createLog } from '../../kernel/log.ts'
import { createReadiness } from '../../kernel/readiness.ts'

/** A board whose time and deadlines are in the test's hands. */
const controlled = () => {
  const lines: Record<string, any>[] = []
  const { log } = createLog({ level: 'debug', stream: { write: (line) => void lines.push(JSON.parse(line)) } })
  const deadlines: { readonly ms: number; readonly controller: AbortController }[] = []
  const time = { now: 5_000 }
  const board = createReadiness(
    {
      now: () => 0,
      monotonic: () => time.now,
      deadline: (ms) => {
        const controller = new AbortController()
        deadlines.push({ ms, controller })
        return controller.signal
      },
    },
    log,
  )
  return { board, time, deadlines, lines }
}

const started = () => {
  const parts = controlled()
  parts.board.started()
  return parts
}

test('starting, with what start is busy with as the reason; no check runs', async () => {
  const { board } = controlled()
  let checks = 0
  board.add('database', 'the database does not answer', async () => {
    checks += 1
    return true
  })
  assert.equal(await board.state(), { status: 'starting', reason: 'starting' })
  board.busy('opening the database')
  board.busy('installing packages')
  assert.equal(await board.state(), { status: 'starting', reason: 'installing packages' })
  assert.is(board.starting, 'installing packages')
  assert.is(checks, 0)
})

test('ok once started, with no checks and with checks that pass; busy changes nothing any more', async () => {
  const { board } = started()
  assert.equal(await board.state(), { status: 'ok' })
  board.busy('installing packages')
  assert.is(board.starting, undefined)
  assert.equal(await board.state(), { status: 'ok' })
})

test('unavailable with the reason of the first check that fails, throws or answers anything but true', async () => {
  for (const fail of [async () => false, () => Promise.reject(new Error('no')), async () => undefined as never]) {
    const { board } = started()
    board.add('a', 'a does not answer', async () => true)
    board.add('b', 'b does not answer', fail)
    board.add('c', 'c does not answer', async () => false)
    assert.equal(await board.state(), { status: 'unavailable', reason: 'b does not answer' })
  }
})

test('a check that throws before it promises is a failed check', async () => {
  const { board } = started()
  board.add('a', 'a does not answer', () => {
    throw new Error('no')
  })
  assert.equal(await board.state(), { status: 'unavailable', reason: 'a does not answer' })
})

test('the cause goes to the debug log only', async () => {
  const { board, lines } = started()
  board.add('a', 'a does not answer', () => Promise.reject(new Error('password of root refused')))
  assert.not.match(JSON.stringify(await board.state()), 'root')
  assert.equal(
    lines.map(({ level, plugin, err }) => [level, plugin, err.message]),
    [['debug', 'a', 'password of root refused']],
  )
})

test('overlapping probes share one run', async () => {
  const { board } = started()
  let checks = 0
  let finish = (_answer: boolean): void => undefined
  board.add('a', 'a does not answer', () => {
    checks += 1
    return new Promise<boolean>((resolve) => {
      finish = resolve
    })
  })
  const probes = [board.state(), board.state(), board.state()]
  finish(true)
  assert.equal(await Promise.all(probes), Array(3).fill({ status: 'ok' }))
  assert.is(checks, 1)
})

test('a result is reused for one second from when it was there, and not longer', async () => {
  const { board, time } = started()
  let checks = 0
  let answer = true
  board.add('a', 'a does not answer', async () => {
    checks += 1
    time.now += 700 // the check itself takes a while
    return answer
  })
  assert.is((await board.state()).status, 'ok')
  answer = false
  time.now += 999
  assert.is((await board.state()).status, 'ok')
  assert.is(checks, 1)
  time.now += 1
  assert.is((await board.state()).status, 'unavailable')
  assert.is(checks, 2)
  answer = true
  time.now += 999
  assert.is((await board.state()).status, 'unavailable')
  time.now += 1
  assert.is((await board.state()).status, 'ok')
  assert.is(checks, 3)
})

test('a check that takes longer than two seconds fails, is told to stop, and may fail later unheard', async () => {
  const { board, deadlines, lines } = started()
  let told = false
  let fail = (_error: Error): void => undefined
  board.add('slow', 'slow does not answer', (signal) => {
    signal.addEventListener('abort', () => {
      told = true
    })
    return new Promise<boolean>((_resolve, reject) => {
      fail = reject
    })
  })
  const probe = board.state()
  assert.equal(
    deadlines.map(({ ms }) => ms),
    [2_000],
  )
  deadlines[0]!.controller.abort()
  assert.equal(await probe, { status: 'unavailable', reason: 'slow does not answer' })
  assert.ok(told)
  assert.equal(
    lines.map(({ level, plugin, msg }) => [level, plugin, msg]),
    [['debug', 'slow', 'the readiness check took longer than 2000 ms']],
  )
  fail(new Error('at last'))
  await new Promise(setImmediate) // an unhandled rejection would end the process here
})

test('a deadline that passes after the answer changes nothing', async () => {
  const { board, deadlines, lines } = started()
  board.add('a', 'a does not answer', async () => true)
  assert.is((await board.state()).status, 'ok')
  deadlines[0]!.controller.abort()
  assert.is((await board.state()).status, 'ok')
  assert.equal(lines, [])
})

test('stopping and a failed start are unavailable, whatever was before', async () => {
  const stopping = started()
  assert.is((await stopping.board.state()).status, 'ok')
  stopping.board.stopping()
  assert.equal(await stopping.board.state(), { status: 'unavailable', reason: 'stopping' })
  const failed = controlled()
  failed.board.failed('the start failed')
  assert.equal(await failed.board.state(), { status: 'unavailable', reason: 'the start failed' })
  failed.board.stopping()
  assert.equal(await failed.board.state(), { status: 'unavailable', reason: 'stopping' })
})

test.run()
