/** The pages of the login as text: what is escaped, what the forms post, what the policy allows. */
import { createHash } from 'node:crypto'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { describeScope } from '../../../plugins/smart/pages/describe-scope.ts'
import { createPages } from '../../../plugins/smart/pages/pages.ts'
import { englishScopes } from '../../../plugins/smart/pages/scope-texts.ts'
import { english } from '../../../plugins/smart/pages/texts.ts'
import { consent, samplePages } from '../../support/sample-pages.ts'

const pages = createPages()
const EVIL = `<script>alert(1)</script>"'&<img src=x onerror=alert(2)>`
const form = { action: `/oauth/interaction/${EVIL}`, csrf: EVIL }
const paged = { next: EVIL, previous: EVIL }

test('markup in names, texts and scopes is escaped on every page', () => {
  const all = [
    pages.login({ ...form, clientName: EVIL, provider: EVIL, demo: true, isNameMissing: true }),
    pages.patient({
      ...{ ...form, ...paged, clientName: EVIL, query: EVIL },
      rows: [{ id: EVIL, name: EVIL, birthDate: EVIL, gender: EVIL, identifier: EVIL }],
    }),
    pages.encounter({
      ...{ ...form, ...paged, clientName: EVIL, patientName: EVIL },
      rows: [{ id: EVIL, title: EVIL, start: EVIL, end: EVIL, status: EVIL }],
    }),
    pages.consent({
      ...{ ...form, clientId: EVIL, clientName: EVIL, clientUri: EVIL, returnsTo: EVIL, userName: EVIL },
      ...{ patientName: EVIL, encounterTitle: EVIL, scopes: [EVIL, `patient/Patient.rs?name=${EVIL}`] },
    }),
    pages.error({ status: 400, reason: 'malformed', requestId: EVIL }),
    pages.logout({ ...form, userName: EVIL }),
  ]
  for (const page of all) {
    assert.not.match(page, /<script|<img/)
    assert.not.match(page, /="[^"]*<[^"]*"/, 'an attribute holds markup')
    assert.match(page, '&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;')
  }
})

test('an address of the app that is not one of the web is no link', () => {
  for (const clientUri of ['javascript:alert(1)', 'data:text/html,x', 'not a url', ' javascript:alert(1)'])
    assert.not.match(pages.consent({ ...consent, clientUri }), 'href=')
  assert.match(pages.consent(consent), 'href="https://growth.example.org/about"')
})

test('no page has a script, an event handler, a style attribute, or anything from another address', () => {
  for (const [name, page] of Object.entries(samplePages())) {
    assert.not.match(page, /<script|<link|<img|<iframe|<object|\son\w+=|\sstyle=|javascript:/i, name)
    assert.not.match(page, /\ssrc=|@import|url\(/i, name)
    assert.is(page.match(/<h1>/g)?.length, 1, name)
    assert.match(page, '<html lang="en">')
  }
})

test('the policy allows the style sheet of every page by its hash, and no other source', () => {
  const policy = pages.csp()
  assert.match(policy, "default-src 'none'; style-src 'sha256-")
  assert.match(policy, "frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
  for (const [name, page] of Object.entries(samplePages())) {
    const style = /<style>([\s\S]*)<\/style>/.exec(page)?.[1] ?? ''
    assert.match(policy, `'sha256-${createHash('sha256').update(style).digest('base64')}'`, name)
  }
})

test('the policy allows the redirect behind a form to what the app is', () => {
  const formAction = (...targets: (string | undefined)[]): string =>
    /form-action (.*)$/.exec(pages.csp(...targets))?.[1] ?? ''
  assert.is(formAction(undefined), "'self'")
  assert.is(formAction('not a url'), "'self'")
  assert.is(formAction('https://app.example.org/cb', 'https://login.example.org'), "'self' https:")
  assert.is(formAction('com.example.app:/cb'), "'self' com.example.app:")
  assert.is(formAction('http://127.0.0.1:51004/cb'), "'self' http://localhost:* http://127.0.0.1:*")
  assert.is(formAction('http://[::1]:51004/cb'), "'self' http:")
})

const said = (scope: string) => describeScope(scope, englishScopes)

test('a scope is said in plain words', () => {
  const titles = {
    'patient/Observation.rs': 'View measurements and test results',
    'patient/Observation.read': 'View measurements and test results',
    'patient/Observation.write': 'Add, change and delete measurements and test results',
    'patient/Observation.*': 'View, add, change and delete measurements and test results',
    'patient/MedicationRequest.c': 'Add prescriptions',
    'patient/Immunization.r': 'Open single vaccinations',
    'patient/Immunization.s': 'Search vaccinations',
    'patient/*.cruds': 'View, add, change and delete everything',
    'patient/Basic.rs': 'View records of the type Basic',
    'user/Observation.rs': 'View measurements and test results',
    openid: 'who you are',
    offline_access: 'Keep this access when you are gone',
  }
  for (const [scope, title] of Object.entries(titles)) assert.is(said(scope).title, title)
})

test('the conditions of a scope are said with their values and systems', () => {
  const details = {
    'patient/Observation.rs?category=laboratory': 'Only where: category is laboratory',
    'patient/Observation.rs?category=http://terminology.hl7.org/CodeSystem/observation-category|laboratory&status=final,amended':
      'Only where: category is laboratory (http://terminology.hl7.org/CodeSystem/observation-category); status is final or amended',
    'patient/Observation.rs?date=ge2020-01-01&date=le2024': 'Only where: date is from 2020-01-01; date is until 2024',
    'patient/Observation.rs?code=a%20b+c': 'Only where: code is a b c',
  }
  for (const [scope, detail] of Object.entries(details)) assert.is(said(scope).details[0], detail)
})

test('what is sensitive is marked, and each scope but what an app needs to know can be refused', () => {
  assert.equal(said('patient/Observation.rs').marks, [])
  assert.equal(said('patient/*.rs').marks, ['everything'])
  assert.equal(said('user/*.cud').marks, ['everything', 'many', 'changes'])
  assert.equal(said('offline_access').marks, ['lasting'])
  const page = pages.consent(consent)
  const posted = (type: string): string[] =>
    [...page.matchAll(/<input type="(\w+)"[^>]* name="scope" value="([^"]*)"/g)]
      .filter(([, of]) => of === type)
      .map(([, , value = '']) => value.replaceAll('&amp;', '&'))
  assert.equal(posted('hidden'), ['openid', 'fhirUser', 'launch/patient'])
  assert.equal(posted('checkbox'), consent.scopes.slice(3))
  const headings = [...page.matchAll(/<legend>(.*?)<\/legend>/g)].map(([, text]) => text)
  assert.equal(headings, [
    'In the record of Anna Maria Sørensen-Kowalczyk',
    'In all records that you may see yourself',
    'How long',
  ])
})

test('dates are written with the name of the month, as far as they are known', () => {
  const shown = ['1984-03-09', '2019-11', '1956', '2026-11-20T09:30:00+01:00', 'yesterday'].map(english.date)
  assert.equal(shown, ['9 March 1984', 'November 2019', '1956', '20 November 2026, 09:30', 'yesterday'])
})

test('a search and its pages keep what was searched for', () => {
  const page = pages.patient({
    ...{ action: '/a', csrf: 'c', clientName: 'App', query: 'ann & co' },
    ...{ rows: [], next: 'n/1', previous: undefined },
  })
  assert.match(page, 'name="q" value="ann &amp; co"')
  assert.match(page, 'href="/a?q=ann+%26+co&amp;page=n%2F1"')
})

test.run()
