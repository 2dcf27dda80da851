/** What the program writes: in batches to a file or a pipe, at once to a terminal. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchedOutput } from '../../cli/batched-output.ts'
import { until } from '../support/until.ts'

const outputOf = (isTTY = false) => {
  const writes: string[] = []
  return { writes, output: batchedOutput({ isTTY, write: (text) => void writes.push(text) }) }
}

test('lines that come together are written together, soon', async () => {
  const { writes, output } = outputOf()
  for (const line of ['one\n', 'two\n', 'three\n']) output.write(line)
  assert.equal(writes, [])
  const awake = setInterval(() => undefined, 1000)
  await until(() => writes.length > 0, 5_000, 'the batch')
  clearInterval(awake)
  assert.equal(writes, ['one\ntwo\nthree\n'])
})

test('a full batch does not wait, and nothing is lost or changes places', () => {
  const { writes, output } = outputOf()
  const lines = Array.from({ length: 5000 }, (_, at) => `line ${at} ${'.'.repeat(80)}\n`)
  for (const line of lines) output.write(line)
  assert.ok(writes.length > 1 && writes.length < 20, `${writes.length} writes`)
  output.flush()
  output.flush()
  assert.is(writes.join(''), lines.join(''))
})

test('a terminal is written to at once', () => {
  const { writes, output } = outputOf(true)
  output.write('one\n')
  assert.equal(writes, ['one\n'])
})

test.run()
