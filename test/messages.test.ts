/** The wording of error messages: a number stands with the form of its noun, whatever the number. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isErrorKind } from '../cli/docs/status-table.ts'
import { defineError, shownTemplate } from '../kernel/define-error.ts'
import * as kernelErrors from '../kernel/errors.ts'
import { firstParty } from '../plugins/index.ts'

const KINDS = [kernelErrors, ...firstParty.map(({ errors = {} }) => errors)]
  .flatMap((table) => Object.values(table as Record<string, unknown>))
  .filter(isErrorKind)

/** Bounds that are constants far above one, so that their noun is never singular. */
const NEVER_ONE = new Set([
  'audit/search-too-costly',
  'fhir/bundle-answer-too-large',
  'fhir/bundle-too-large',
  'fhir/json-depth',
  'fhir/json-long',
  'fhir/json-wide',
  'fhir/meta-too-many',
  'kernel/body-timeout',
  'kernel/body-too-large',
  'kernel/url-too-long',
  'terminology/too-many-codes',
])
const NOUNS =
  /%s (different )?(bytes|codes|connections|entries|items|labels|levels|members|queries|requests|resources|seconds|times)\b/

test('no message of any table puts a number that may be one before a plural', () => {
  assert.ok(KINDS.length > 100)
  const wrong = KINDS.filter(({ key, template }) => NOUNS.test(template) && !NEVER_ONE.has(key))
  assert.equal(
    wrong.map(({ key, template }) => `${key}: ${template}`),
    [],
  )
})

test('no message puts an article before a word that may begin with a vowel', () => {
  assert.equal(
    KINDS.filter(({ template }) => /\ban? %s/i.test(template)).map(({ key }) => key),
    [],
  )
})

const Waiting = defineError('test/waiting', 429, 'throttled', '%s waits %s {second|seconds} for %s {turn|turns}.')

test('a number is followed by the form that belongs to it; what a client wrote stays as it is', () => {
  assert.is(Waiting('%s {a|b}', 1, 2).message, '%s {a|b} waits 1 second for 2 turns.')
  assert.is(Waiting('x', 0, 1).message, 'x waits 0 seconds for 1 turn.')
  assert.is(shownTemplate(Waiting.template), '… waits … seconds for … turns.')
})

test.run()
