/** People whose record, relation or role is over: no page shows them patients, and their tokens end within a second. */
// database: sqlite, because records are read as any resource; smart/code-exchange.test.ts and smart/refresh.test.ts are on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type App,
  askFor,
  bearing,
  codeOf,
  exchange,
  goThrough,
  type Json,
  loginClinic,
  refresh,
  registerApp,
  removeRecord,
  returned,
  store,
  type Tokens,
  tokensOf,
} from '../../support/login-clinic.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import { BUILT_IN_BASIC, ISSUER, postForm } from '../../support/smart-server.ts'
import { type BrowserPage, createTestBrowser, type TestBrowser } from '../../support/test-browser.ts'

const SCOPE = 'launch/patient launch/encounter patient/*.rs user/*.rs'
const ACCESS = 'launch/patient patient/*.rs user/*.rs'
const SESSION = '__Host-smart-session'
const PATIENTS = /Anna|Bob|MRN-1|1970-12-31/

const DOC = { resourceType: 'Practitioner', id: 'doc', active: true }
const ROLE = { resourceType: 'PractitionerRole', id: 'surgeon', practitioner: { reference: 'Practitioner/doc' } }
const MOTHER = { resourceType: 'RelatedPerson', id: 'mother', patient: { reference: 'Patient/p1' } }

interface Clinic {
  readonly server: TestServer
  readonly app: App
  readonly clock: ManualClock
}

const openClinic = async ({ resourceType, id }: Json): Promise<Clinic> => {
  const clock = createManualClock()
  const server = await loginClinic({ clock, smart: { fhir_user: `${resourceType}/${id}` } })
  return { server, app: await registerApp(server), clock }
}
const clinics = new Map<string, Clinic>()
test.after(async () => {
  for (const { server } of clinics.values()) await server.stop()
})
/**
 * A clinic whose demo login makes everybody the one of this record, with the records as they were. Tests of one person share it.
 * Its clock begins at 2026-01-15T12:00:00Z, and stays in that half hour.
 */
const withPerson = async (record: Json, work: (clinic: Clinic) => Promise<void>): Promise<void> => {
  const clinic = clinics.get(record.resourceType) ?? (await openClinic(record))
  clinics.set(record.resourceType, clinic)
  for (const one of [DOC, record]) await store(clinic.server, [one])
  await work(clinic)
}

const read = async (server: TestServer, { access_token: token }: Tokens, url = '/Patient/p1'): Promise<number> =>
  (await server.inject({ url, headers: bearing(token) })).statusCode

const introspected = async (server: TestServer, { access_token: token }: Tokens): Promise<Json> =>
  (await postForm(server, '/oauth/introspect', { token }, { authorization: BUILT_IN_BASIC })).json()

/** A browser whose person stands in front of this page. */
const standingAt = async (
  { server, app }: Clinic,
  step: string,
): Promise<{ browser: TestBrowser; page: BrowserPage }> => {
  const browser = createTestBrowser(server)
  let page = await browser.submit(await browser.open(askFor(app, SCOPE).url), { username: 'x' })
  if (step !== 'patient') page = await browser.submit(page, { patient: 'p1' })
  if (step === 'consent') page = await browser.submit(page, { encounter: 'e1' })
  assert.match(page.url, new RegExp(`/${step}$`))
  return { browser, page }
}

const deactivate = (server: TestServer): Promise<void> => store(server, [{ ...DOC, active: false }])
const remove = (server: TestServer): Promise<void> => removeRecord(server, 'Practitioner', 'doc')

const isTurnedAway = async ({ app }: Clinic, browser: TestBrowser, page: BrowserPage, what: string): Promise<void> => {
  assert.is(returned(page).get('error'), 'access_denied', what)
  assert.not.match(page.body, PATIENTS, what)
  assert.is(browser.cookies.has(SESSION), false, `${what}: the cookie`)
  assert.match((await browser.open(askFor(app, SCOPE).url)).url, /\/login$/, `${what}: the session`)
}

for (const [how, end] of [
  ['inactive', deactivate],
  ['removed', remove],
] as const) {
  test(`a person whose record is ${how} begins no login by an earlier session`, async () => {
    await withPerson(DOC, async (clinic) => {
      for (const more of [{}, { prompt: 'none' }]) {
        await store(clinic.server, [DOC])
        const browser = createTestBrowser(clinic.server)
        const online = await tokensOf(clinic.server, clinic.app, 'user/*.rs online_access', {}, browser)
        assert.is(await read(clinic.server, online), 200)
        const secret = browser.cookies.get(SESSION) as string
        await end(clinic.server)
        const page = await browser.open(askFor(clinic.app, SCOPE, more).url)
        await isTurnedAway(clinic, browser, page, how)
        assert.is(await read(clinic.server, online), 401, 'online access ends with the session, at once')
        // Whoever kept the cookie has nothing either, when the record is back.
        await store(clinic.server, [DOC])
        const kept = createTestBrowser(clinic.server)
        kept.cookies.set(SESSION, secret)
        assert.match((await kept.open(askFor(clinic.app, SCOPE).url)).url, /\/login$/)
      }
    })
  })

  test(`a person whose record is ${how} sees no page of a login that has begun`, async () => {
    await withPerson(DOC, async (clinic) => {
      const forms = { patient: { patient: 'p1' }, encounter: { encounter: 'e1' }, consent: { decision: 'allow' } }
      for (const [step, form] of Object.entries(forms))
        for (const method of ['GET', 'search', 'POST']) {
          await store(clinic.server, [DOC])
          const { browser, page } = await standingAt(clinic, step)
          await end(clinic.server)
          const answer =
            method === 'POST'
              ? await browser.submit(page, form)
              : await browser.open(method === 'GET' ? page.url : `${page.url}?q=anna`)
          await isTurnedAway(clinic, browser, answer, `${method} ${step}`)
        }
    })
  })

  test(`a login that waits for its first step notices that the record is ${how}`, async () => {
    await withPerson(DOC, async (clinic) => {
      const browser = createTestBrowser(clinic.server)
      await tokensOf(clinic.server, clinic.app, 'openid', {}, browser)
      // The answer to the authorization request, whose redirect the browser has not followed yet.
      const cookie = `${SESSION}=${browser.cookies.get(SESSION)}`
      const begun = await clinic.server.inject({ url: askFor(clinic.app, SCOPE).url, headers: { cookie } })
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(String(begun.headers['set-cookie'])) ?? []
      browser.cookies.set(name, value)
      await end(clinic.server)
      const page = await browser.open(begun.headers.location as string)
      await isTurnedAway(clinic, browser, page, how)
    })
  })
}

const refusal = async ({ server, app }: Clinic): Promise<string | null> => {
  const page = await goThrough(createTestBrowser(server), askFor(app, ACCESS).url)
  return returned(page).get('error')
}

/** Logs in with the first record, and tells what is left once it has become the other. */
const leftAfter = async (clinic: Clinic, now: Json, become: (server: TestServer) => Promise<void>): Promise<Json> => {
  const { server, app, clock } = clinic
  await store(server, [now])
  const tokens = await tokensOf(server, app, `${ACCESS} offline_access`)
  assert.is(await read(server, tokens), 200)
  await become(server)
  await clock.advance(1_000)
  const refreshed = await refresh(server, app, tokens.refresh_token as string)
  return {
    read: await read(server, tokens),
    active: (await introspected(server, tokens)).active,
    refresh: refreshed.json().error ?? refreshed.statusCode,
    login: await refusal(clinic),
  }
}

const ENDED = { read: 401, active: false, refresh: 'invalid_grant', login: 'access_denied' }
const GOES_ON = { read: 200, active: true, refresh: 200, login: null }

const OVER: readonly Json[] = [
  { end: '2019-01-01' },
  { end: '2025' },
  { end: '2025-12' },
  { end: '2026-01-14' },
  { end: '2026-01-15T12:00:00Z' },
  { end: '2026-01-15T13:30:00+02:00' },
  { start: '2026-01-16' },
  { start: '2026-02' },
  { start: '2027', end: '2028' },
  { start: '2026-01-15T12:30:00Z' },
]
const CURRENT: readonly Json[] = [
  { start: '2019' },
  { end: '2026' },
  { end: '2026-01' },
  { start: '2026-01-15', end: '2026-01-15' },
  { start: '2026', end: '2026' },
  { start: '2026-01-15T12:00:00Z', end: '2026-01-15T12:30:00Z' },
  { end: '2026-01-15T10:30:00-02:00' },
  {},
]

for (const record of [MOTHER, ROLE]) {
  test(`a ${record.resourceType} counts in its period alone`, async () => {
    await withPerson(record, async (clinic) => {
      for (const period of [...OVER, ...CURRENT]) {
        const left = await leftAfter(clinic, record, (server) => store(server, [{ ...record, period }]))
        assert.equal(left, OVER.includes(period) ? ENDED : GOES_ON, JSON.stringify(period))
      }
    })
  })

  test(`a ${record.resourceType} whose period passes loses access without a change`, async () => {
    const passing = { ...record, period: { end: '2026-01-15T12:00:30Z' } }
    await withPerson(passing, async (clinic) => {
      const left = await leftAfter(clinic, passing, () => clinic.clock.leap(30_000))
      assert.equal(left, ENDED)
    })
  })
}

const PEOPLE: readonly Json[] = [DOC, ROLE, MOTHER, { resourceType: 'Patient', id: 'p1', name: [{ text: 'Anna' }] }]

for (const record of PEOPLE)
  test(`a ${record.resourceType} that is removed or deactivated loses access within a second`, async () => {
    const { resourceType, id } = record
    await withPerson(record, async (clinic) => {
      const inactive = (server: TestServer) => store(server, [{ ...record, active: false }])
      assert.equal(await leftAfter(clinic, record, inactive), ENDED)
      const removed = (server: TestServer) => removeRecord(server, resourceType, id)
      assert.equal(await leftAfter(clinic, record, removed), ENDED)
    })
  })

test('a PractitionerRole counts as long as its practitioner does', async () => {
  await withPerson(ROLE, async (clinic) => {
    assert.equal(await leftAfter(clinic, ROLE, deactivate), ENDED, 'inactive')
    await store(clinic.server, [DOC])
    assert.equal(await leftAfter(clinic, ROLE, remove), ENDED, 'removed')
    await store(clinic.server, [DOC])
    for (const practitioner of [
      undefined,
      { display: 'Somebody' },
      { identifier: { value: '1' } },
      { reference: 'Patient/p1' },
      { reference: 'https://elsewhere.example.org/Practitioner/doc' },
    ]) {
      const other = (server: TestServer) => store(server, [{ ...ROLE, practitioner }])
      assert.equal(await leftAfter(clinic, ROLE, other), ENDED, JSON.stringify(practitioner))
    }
    const absolute = { ...ROLE, practitioner: { reference: `${ISSUER}/Practitioner/doc` } }
    assert.equal(await leftAfter(clinic, absolute, async () => undefined), GOES_ON)
  })
})

test('a RelatedPerson of another patient keeps nothing of the one before', async () => {
  await withPerson(MOTHER, async (clinic) => {
    const { server, app } = clinic
    const moved = { ...MOTHER, patient: { reference: 'Patient/p2' } }
    const left = await leftAfter(clinic, MOTHER, () => store(server, [moved]))
    assert.equal(left, { ...ENDED, login: null })
    const tokens = await tokensOf(server, app, 'launch/patient patient/*.rs')
    assert.is(tokens.patient, 'p2')
    assert.is(await read(server, tokens, '/Patient/p2'), 200)
    // Without a patient in its context a grant goes on, for the new patient.
    const free = await tokensOf(server, app, 'user/*.rs offline_access')
    await store(server, [MOTHER])
    await clinic.clock.advance(1_000)
    assert.is(await read(server, free, '/Patient/p1'), 200)
    assert.is(await read(server, free, '/Patient/p2'), 404)
    assert.is((await refresh(server, app, free.refresh_token as string)).statusCode, 200)
  })
})

test('a code gives no token for a patient whom the person may not open any more', async () => {
  await withPerson(MOTHER, async ({ server, app }) => {
    const asked = askFor(app, SCOPE)
    const code = codeOf(await goThrough(createTestBrowser(server), asked.url))
    await store(server, [{ ...MOTHER, patient: { reference: 'Patient/p2' } }])
    assert.is((await exchange(server, app, code, asked.verifier)).json().error, 'invalid_grant')
  })
})

test.run()
