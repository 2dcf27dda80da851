/** Targets that are remembered as held: never longer than they surely are. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AppliedChange } from '../../../plugins/fhir/service.ts'
import { createKnownTargets } from '../../../plugins/references/target-cache.ts'

const PATIENT = { type: 'Patient', id: '1' }
const change = (): AppliedChange => ({
  interaction: { kind: 'create', type: 'Observation' },
  version: { rid: 1, type: 'Observation', id: 'o', deleted: false },
  resource: { resourceType: 'Observation' },
  written: true,
})

test('a target is known once the transaction that found it is committed', () => {
  const known = createKnownTargets()
  const one = change()
  known.found([one], [PATIENT])
  assert.not.ok(known.has('Patient/1'))
  known.committed([one])
  assert.ok(known.has('Patient/1'))
})

test('a transaction that is undone makes nothing known', () => {
  const known = createKnownTargets()
  known.found([change()], [PATIENT])
  known.committed([change()])
  assert.not.ok(known.has('Patient/1'))
})

test('a target is forgotten before its deletion is committed', () => {
  const known = createKnownTargets()
  const one = change()
  known.found([one], [PATIENT])
  known.committed([one])
  known.doom('Patient/1')
  assert.not.ok(known.has('Patient/1'))
})

test('what was deleted after it was found does not become known', () => {
  const known = createKnownTargets()
  const one = change()
  known.found([one], [PATIENT])
  known.doom('Patient/1')
  known.committed([one])
  assert.not.ok(known.has('Patient/1'))
})

test('a version of a target says nothing about the target', () => {
  const known = createKnownTargets()
  const one = change()
  known.found([one], [{ ...PATIENT, version: '1' }])
  known.committed([one])
  assert.not.ok(known.has('Patient/1'))
})

test.run()
