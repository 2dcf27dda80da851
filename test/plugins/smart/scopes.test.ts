/** Scopes as text: what is one, and what of it a client may have. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { grantScopes } from '../../../plugins/smart/scopes/grant-scopes.ts'
import { CONTEXT_SCOPES, parseScope } from '../../../plugins/smart/scopes/parse-scope.ts'
import type { ResourceScope } from '../../../plugins/smart/scopes/scope.ts'

const rightsOf = (text: string): string | undefined => (parseScope(text) as ResourceScope | undefined)?.rights

test('all combinations of rights in the order of cruds are read, and none in another order', () => {
  const letters = ['c', 'r', 'u', 'd', 's']
  for (let bits = 0; bits < 32; bits += 1) {
    const rights = letters.filter((_letter, at) => (bits >> at) & 1).join('')
    assert.is(rightsOf(`patient/Observation.${rights}`), rights === '' ? undefined : rights)
    const reversed = [...rights].reverse().join('')
    if (rights.length > 1) assert.is(parseScope(`patient/Observation.${reversed}`), undefined, reversed)
  }
})

test('words of version 1 mean reading with searching, changing, and all', () => {
  assert.is(rightsOf('patient/Observation.read'), 'rs')
  assert.is(rightsOf('user/*.write'), 'cud')
  assert.is(rightsOf('system/*.*'), 'cruds')
})

const REFUSED = [
  ...['patient/Observation.sr', 'patient/Observation.dus', 'patient/Observation.rr', 'patient/Observation.rx'],
  ...['patient/Observation.', 'patient/Observation', 'patient/observation.rs', 'Patient/*.rs', 'patient/*.RS'],
  ...['patient/.rs', 'patient/*', '*/*.rs', 'practitioner/*.rs', 'patient/Observation.readwrite', 'patient/Obs*.rs'],
  ...['patient/Observation.constructor', 'patient/Observation.rs.cud', 'patient/Observation..rs'],
  ...['patient/Observation.rs?', 'patient/Observation.rs?category', 'patient/Observation.rs?category='],
  ...['patient/Observation.rs?=x', 'patient/Observation.rs?category=a&', 'patient/Observation.rs?category=a,'],
  ...['patient/Observation.rs?category=,a', 'patient/Observation.rs?category=%zz', 'patient/Observation.rs?code=%00'],
  ...[
    'patient/Observation.rs?code:in=x',
    'patient/Observation.rs?code:not=x',
    'patient/Observation.rs?code:missing=true',
  ],
  ...[
    'patient/Observation.rs?patient.birthdate=1990',
    'patient/Observation.rs?_filter=x',
    'patient/Observation.rs?_has=x',
  ],
  ...[
    'patient/Observation.rs?_has:List:item:_id=x',
    'patient/Observation.rs?_list=x',
    'patient/Observation.rs?_text=x',
  ],
  ...['patient/Observation.rs?_count=1', 'patient/Observation.rs?_sort=date', 'patient/Observation.rs?_include=x'],
  ...['patient/Observation.read?category=a', 'patient/Observation.*?category=a', 'patient/Observation.rs?a="b"'],
  ...['patient/Observation.rs?category=a\\b', 'patient/Öbservation.rs', 'launch/practitioner', 'Openid', 'offline'],
  `patient/Observation.rs?category=${'a'.repeat(1000)}`,
]
for (const text of REFUSED)
  test(`no scope: ${text.slice(0, 60)}`, () => {
    assert.is(parseScope(text), undefined)
    assert.is(grantScopes(text, undefined, 'user'), '')
    assert.is(grantScopes(text, 'patient/*.cruds user/*.cruds system/*.cruds', 'user'), '')
  })

test('a list is not a scope', () => {
  for (const text of ['', ' openid', 'patient/Observation.rs ', 'openid fhirUser'])
    assert.is(parseScope(text), undefined)
})

test('conditions are kept as they were written', () => {
  const text = 'patient/Observation.rs?category=http://terminology.example/c|laboratory&status=final,amended'
  const scope = parseScope(text) as ResourceScope
  assert.equal(scope.conditions, ['category=http://terminology.example/c|laboratory', 'status=final,amended'])
  assert.is(grantScopes(text, undefined, 'user'), text)
})

test('what is known is granted as it was asked for, in its order, and once; the rest is left out', () => {
  const asked =
    'patient/Observation.read openid  user/Foo.xx fhirUser patient/Observation.read patient/Patient.rs nonsense'
  assert.is(grantScopes(asked, undefined, 'user'), 'patient/Observation.read openid fhirUser patient/Patient.rs')
})

test('a client alone has system scopes and no other, and only those it is registered for', () => {
  const asked = 'system/Observation.rs patient/*.rs user/*.rs openid launch offline_access'
  assert.is(grantScopes(asked, 'system/*.rs patient/*.rs user/*.rs openid', 'system'), 'system/Observation.rs')
  assert.is(grantScopes(asked, undefined, 'system'), '')
  assert.is(grantScopes(asked, '', 'system'), '')
})

test('a user flow never has system scopes', () => {
  assert.is(grantScopes('system/*.rs patient/*.rs', undefined, 'user'), 'patient/*.rs')
  assert.is(grantScopes('system/*.rs', 'system/*.rs', 'user'), '')
})

const NARROWED: readonly (readonly [asked: string, allowed: string, granted: string])[] = [
  ['patient/Observation.rs', 'patient/*.rs', 'patient/Observation.rs'],
  ['patient/Observation.cruds', 'patient/*.rs', 'patient/Observation.rs'],
  ['patient/*.rs', 'patient/Observation.rs patient/Patient.r', 'patient/Observation.rs patient/Patient.r'],
  ['patient/*.cruds', 'patient/*.rs patient/Observation.c', 'patient/*.rs patient/Observation.c'],
  ['patient/Observation.crs', 'patient/Observation.rs patient/*.c', 'patient/Observation.crs'],
  ['patient/Observation.rs', 'user/*.cruds system/*.cruds', ''],
  ['patient/Observation.rs', 'patient/Patient.rs', ''],
  ['patient/Observation.rs', 'patient/Observation.cud', ''],
  // Version 1 stays version 1, and takes no more than its words can say.
  ['patient/Observation.read', 'patient/Observation.rs', 'patient/Observation.read'],
  ['patient/Observation.rs', 'patient/Observation.read', 'patient/Observation.rs'],
  ['patient/Observation.*', 'patient/*.read', 'patient/Observation.read'],
  ['patient/*.*', 'patient/Observation.cruds patient/Patient.rs', 'patient/Observation.* patient/Patient.read'],
  ['patient/*.*', 'patient/*.crud', 'patient/*.write'],
  ['patient/Observation.read', 'patient/Observation.r', ''],
  ['patient/Observation.read', 'patient/Observation.rs?category=a', ''],
  // Conditions are added up.
  ['patient/Observation.rs', 'patient/Observation.rs?category=a', 'patient/Observation.rs?category=a'],
  ['patient/Observation.rs?category=a', 'patient/Observation.rs', 'patient/Observation.rs?category=a'],
  ['patient/Observation.rs?category=a', 'patient/Observation.rs?category=a', 'patient/Observation.rs?category=a'],
  [
    'patient/Observation.rs?category=a',
    'patient/Observation.rs?category=b',
    'patient/Observation.rs?category=a&category=b',
  ],
  [
    'patient/Observation.rs',
    'patient/Observation.rs?category=a patient/Observation.r?category=b',
    'patient/Observation.rs?category=a patient/Observation.r?category=b',
  ],
  ['patient/Observation.rs', 'patient/Observation.rs?category=a patient/*.rs', 'patient/Observation.rs'],
  // By name.
  ['openid fhirUser launch/patient', 'openid fhirUser launch', 'openid fhirUser'],
]
for (const [asked, allowed, granted] of NARROWED)
  test(`of ${asked} a client with ${allowed} has ${granted || 'nothing'}`, () => {
    assert.is(grantScopes(asked, allowed, 'user'), granted)
  })

test('what is narrowed is never more than what is asked for, or than what is allowed', () => {
  const scopes = ['patient/*.*', 'patient/*.read', 'patient/A.write', 'patient/A.rs', 'patient/B.cd', 'patient/A.u?x=1']
  const lists = [...scopes, ...scopes.flatMap((a) => scopes.map((b) => `${a} ${b}`))]
  /** Type, right and condition of everything a list opens; a type and a condition nobody has named stand for all others. */
  const opened = (list: string): Set<string> =>
    new Set(
      list.split(' ').flatMap((text) => {
        const scope = parseScope(text)
        if (scope?.kind !== 'resource') return []
        return ['A', 'B', 'C']
          .filter((type) => scope.type === '*' || scope.type === type)
          .flatMap((type) =>
            [...scope.rights].flatMap((right) =>
              (scope.conditions.length === 0 ? ['x=1', 'x=2'] : scope.conditions).map((one) => type + right + one),
            ),
          )
      }),
    )
  for (const asked of lists)
    for (const allowed of lists) {
      const [granted, a, b] = [opened(grantScopes(asked, allowed, 'user')), opened(asked), opened(allowed)]
      for (const one of granted) assert.ok(a.has(one) && b.has(one), `${asked} / ${allowed}: ${one}`)
    }
})

test('a request for more than 128 scopes is refused; what is registered may be longer', () => {
  const scopes = (count: number): string =>
    Array.from({ length: count }, (_none, at) => `patient/Observation.rs?code=${at}`).join(' ')
  assert.throws(() => grantScopes(scopes(129), undefined, 'user'), /more than 128 scopes/)
  assert.is(grantScopes(scopes(128), undefined, 'user'), scopes(128))
  assert.is(grantScopes('patient/Observation.rs?code=200', scopes(201), 'user'), 'patient/Observation.rs?code=200')
})

test('each scope that needs no type is granted alone', () => {
  for (const text of CONTEXT_SCOPES) assert.is(grantScopes(text, undefined, 'user'), text)
})

test.run()
