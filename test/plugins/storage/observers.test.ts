/** Who watches writes is known before the first one. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createObservers } from '../../../plugins/storage/observers.ts'

const observer = { write: () => undefined, committed: () => undefined, patients: () => ['Patient/p1'] }
const check = { name: 'names' }

test('checks are asked in the order in which they were added', () => {
  const { check: add, checks } = createObservers()
  add(check)
  add({ name: 'references' })
  assert.equal(
    checks.map(({ name }) => name),
    ['names', 'references'],
  )
})

test('one plugin observes; without one nobody is told', () => {
  const observers = createObservers()
  assert.equal(observers.observer.patients({} as never, undefined), [])
  observers.observe(observer)
  assert.is(observers.observer, observer)
  assert.throws(() => observers.observe(observer), 'there is an observer of changes already')
})

test('nothing is added after the setup: what was written before would not have been checked', () => {
  const observers = createObservers()
  observers.close()
  assert.throws(() => observers.check(check), 'the check names is added after the setup')
  assert.throws(() => observers.observe(observer), 'an observer of changes is added after the setup')
})

test.run()
