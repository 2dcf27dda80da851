/** Which errors have an answer. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, isServerError, ServerError, toServerError } from '../../kernel/index.ts'
import { SettingsInvalid } from '../../kernel/settings/errors.ts'

const Full = defineError('kafka/full', 422, 'business-rule', 'The topic is full.')

test('an error of a table is a ServerError, and not an error of every class that extends it', () => {
  const full = Full()
  assert.ok(full instanceof ServerError)
  assert.not.ok(full instanceof SettingsInvalid)
  const settings = new SettingsInvalid(['[kafka] topic is missing'])
  assert.ok(settings instanceof SettingsInvalid && settings instanceof ServerError)
})

test('a copy has the stack of the error that it copies, and errors that are made later have their own', () => {
  const full = Full()
  const made = /server-error\.test\.ts/
  assert.match(full.stack ?? '', made)
  assert.is(full.with({ headers: { 'retry-after': '1' } }).stack, full.stack)
  assert.match(new Error('later').stack ?? '', made)
})

for (const other of [undefined, null, 'text', {}, new Error('no broker'), { ...Full() }])
  test(`what is no ServerError is answered with 500: ${JSON.stringify(other)}`, () => {
    assert.not.ok(isServerError(other))
    assert.is(toServerError(other).key, 'kernel/internal')
  })

test.run()
