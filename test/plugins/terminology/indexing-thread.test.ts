/** The thread that reads code systems for the index: one for those that follow each other, another one after a failure. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createIndexingThread, type IndexingThread } from '../../../plugins/terminology/indexed/read-in-thread.ts'
import { largeCodeSystem } from '../../support/large-code-system.ts'

const never = new AbortController().signal

/** Kinds of the parts, and how many concepts are in them. */
const read = async (thread: IndexingThread, count: number, signal = never): Promise<string> => {
  const parts: string[] = []
  for await (const part of thread.read({ json: JSON.stringify(largeCodeSystem(count)) }, signal))
    parts.push(part.kind === 'header' ? `header ${part.size}` : `rows ${part.rows.count}`)
  return parts.join(', ')
}
const failureOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    return (error as Error).name
  }
  return 'none'
}

test('code systems are read one after the other, whether the one before was read to its end or not', async () => {
  const thread = createIndexingThread()
  assert.is(await read(thread, 300), 'header 300, rows 250, rows 50')
  for await (const part of thread.read({ json: JSON.stringify(largeCodeSystem(700)) }, never)) {
    assert.is(part.kind, 'header')
    break
  }
  assert.is(await read(thread, 260), 'header 260, rows 250, rows 10')
  await thread.end()
  assert.is(await read(thread, 10), 'header 10, rows 10', 'after the end another thread is started')
  await thread.end()
})

test('what cannot be read, and a signal that aborts, end the reading, and the next code system is read', async () => {
  const thread = createIndexingThread()
  const broken = async (): Promise<void> => {
    for await (const _part of thread.read({ json: '{"resourceType":' }, never));
  }
  assert.is(await failureOf(broken()), 'SyntaxError')
  assert.is(await read(thread, 10), 'header 10, rows 10')
  const stopping = new AbortController()
  const aborted = async (): Promise<void> => {
    for await (const _part of thread.read({ json: JSON.stringify(largeCodeSystem(700)) }, stopping.signal))
      stopping.abort()
  }
  assert.is(await failureOf(aborted()), 'AbortError')
  assert.is(await read(thread, 10), 'header 10, rows 10')
  await thread.end()
})

test.run()
