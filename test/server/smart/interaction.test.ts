/** The pages between the authorization request and the redirect back: whose they are, in which order, and how often. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type App,
  askFor,
  bearing,
  codeOf,
  exchange,
  goThrough,
  loginClinic,
  refresh,
  registerApp,
  removeRecord,
  returned,
  store,
  tokensOf,
} from '../../support/login-clinic.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import { postForm } from '../../support/smart-server.ts'
import { createTestBrowser, type TestBrowser } from '../../support/test-browser.ts'

let server: TestServer
let app: App
let clock: ManualClock

test.before(async () => {
  clock = createManualClock()
  server = await loginClinic({ clock })
  app = await registerApp(server)
})
test.after(async () => server.stop())

const SCOPE = 'openid launch/patient patient/*.rs'
const SESSION = '__Host-smart-session'

/** A browser whose person stands in front of the consent page. */
const atConsent = async (scope = SCOPE, browser: TestBrowser = createTestBrowser(server)) => {
  const asked = askFor(app, scope)
  let page = await browser.open(asked.url)
  if (page.url.endsWith('/login')) page = await browser.submit(page, { username: 'Dr. Demo' })
  if (page.url.endsWith('/patient')) page = await browser.submit(page, { patient: 'p1' })
  assert.match(page.url, /\/consent$/)
  return { asked, browser, page }
}

test('a person who denies goes back with access_denied, and nothing is left to consent to', async () => {
  const { browser, page, asked } = await atConsent()
  const denied = await browser.submit(page, { decision: 'deny' })
  const back = returned(denied)
  assert.is(back.get('error'), 'access_denied')
  assert.is(back.get('state'), asked.state)
  const again = await browser.submit(page, { decision: 'allow' })
  assert.is(again.hasLeft, false)
  assert.is(again.status, 400)
})

test('each page is closed to frames, to caches and to scripts', async () => {
  const browser = createTestBrowser(server)
  const login = await browser.open(askFor(app, SCOPE).url)
  const patient = await browser.submit(login, { username: 'x' })
  const consent = await browser.submit(patient, { patient: 'p1' })
  for (const { headers, url } of [login, patient, consent]) {
    assert.match(headers['content-security-policy'] as string, "default-src 'none'", url)
    assert.match(headers['content-security-policy'] as string, "frame-ancestors 'none'", url)
    assert.is(headers['x-frame-options'], 'DENY')
    assert.is(headers['referrer-policy'], 'no-referrer')
    assert.is(headers['cache-control'], 'no-store')
    assert.is(headers['access-control-allow-origin'], undefined)
  }
})

test('a form needs its CSRF token, once', async () => {
  const { browser, page } = await atConsent()
  for (const form of [{}, { csrf: '' }, { csrf: 'A'.repeat(43) }, { csrf: ['a', 'b'] }]) {
    const answer = await browser.post(page.url, { decision: 'allow', scope: 'openid', ...form })
    assert.is(answer.status, 403)
    assert.is(answer.hasLeft, false)
  }
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)?.[1] as string
  const foreign = await browser.post(
    page.url,
    { decision: 'allow', scope: 'openid', csrf },
    { 'sec-fetch-site': 'cross-site' },
  )
  assert.is(foreign.status, 403)
  assert.is((await browser.submit(page, { decision: 'allow' })).hasLeft, true)
})

test('the login of one browser cannot be gone on with in another', async () => {
  const mine = await atConsent()
  const other = await atConsent()
  assert.is((await createTestBrowser(server).open(mine.page.url)).status, 403)
  assert.is((await other.browser.open(mine.page.url)).status, 403)
  // With a cookie of the right name and id, and a secret of its own.
  const [name = ''] = [...mine.browser.cookies.keys()].filter((one) => one.includes('login-'))
  const forger = createTestBrowser(server)
  forger.cookies.set(name, `${mine.page.url.split('/').at(-2)}.${'A'.repeat(43)}`)
  for (const [key, value] of mine.browser.cookies) if (key !== name) forger.cookies.set(key, value)
  assert.is((await forger.open(mine.page.url)).status, 403)
  // With the other's own cookies and token on this transaction.
  const csrf = /name="csrf" value="([^"]+)"/.exec(other.page.body)?.[1] as string
  const stolen = await other.browser.post(mine.page.url, { decision: 'allow', scope: 'openid', csrf })
  assert.is(stolen.status, 403)
  // With both requests begun in one browser, the token of one is not good for the other.
  const second = await atConsent(SCOPE, mine.browser)
  const crossed = await mine.browser.post(second.page.url, {
    ...{ decision: 'allow', scope: 'openid' },
    csrf: /name="csrf" value="([^"]+)"/.exec(mine.page.body)?.[1] as string,
  })
  assert.is(crossed.status, 403)
  assert.is((await mine.browser.submit(mine.page, { decision: 'allow' })).hasLeft, true)
  assert.is((await mine.browser.submit(second.page, { decision: 'allow' })).hasLeft, true)
})

test('a step is taken in its turn, and once', async () => {
  const browser = createTestBrowser(server)
  const login = await browser.open(askFor(app, SCOPE).url)
  const patient = await browser.submit(login, { username: 'x' })
  const early = await browser.post(patient.url.replace(/patient$/, 'consent'), {
    ...{ decision: 'allow', scope: 'openid' },
    csrf: /name="csrf" value="([^"]+)"/.exec(patient.body)?.[1] as string,
  })
  assert.is(early.status, 403, 'the consent before the choice of a patient')
  assert.is((await browser.submit(login, { username: 'somebody else' })).status, 403, 'the login again')
  const back = await browser.open(login.url)
  assert.match(back.url, /\/patient$/, 'the back button leads to the step that is waited for')
  const consent = await browser.submit(patient, { patient: 'p1' })
  const all = await Promise.all([1, 2, 3].map(() => browser.submit(consent, { decision: 'allow' })))
  assert.is(all.filter(({ hasLeft }) => hasLeft).length, 1, 'one code for a form that is sent three times')
  for (const { status } of all.filter(({ hasLeft }) => !hasLeft)) assert.is(status, 400)
  const gone = await browser.open(consent.url)
  assert.is(gone.status, 400)
})

test('what is granted comes from the stored request, never from the form', async () => {
  const { browser, page, asked } = await atConsent('openid launch/patient patient/Observation.rs')
  const scope = ['openid', 'patient/*.cruds', 'system/*.cruds', 'offline_access']
  const done = await browser.submit(page, {
    decision: 'allow',
    scope,
    client_id: 'x',
    redirect_uri: 'https://evil.test',
    patient: 'p2',
  })
  assert.match(done.url, /^https:\/\/app\.example\.org\/callback\?code=/)
  const tokens = (await exchange(server, app, codeOf(done), asked.verifier)).json()
  assert.is(tokens.scope, 'openid')
  assert.is(tokens.patient, 'p1')
  assert.is(tokens.refresh_token, undefined)
})

test('nothing granted is access_denied', async () => {
  const { browser, page } = await atConsent()
  assert.is(returned(await browser.submit(page, { decision: 'allow', scope: [] })).get('error'), 'access_denied')
})

test('the session id changes at each login, and the earlier session ends', async () => {
  const browser = createTestBrowser(server)
  const tokens = await tokensOf(server, app, 'openid user/*.rs online_access', {}, browser)
  const first = browser.cookies.get(SESSION) as string
  assert.match(first, /^[\w-]{43}$/)
  const page = await browser.open(askFor(app, 'openid', { prompt: 'login' }).url)
  assert.match(page.url, /\/login$/, 'prompt=login asks although there is a session')
  await browser.submit(page, { username: 'somebody else' })
  const second = browser.cookies.get(SESSION)
  assert.is.not(second, first)
  assert.is((await refresh(server, app, tokens.refresh_token as string)).json().error, 'invalid_grant')
  // Somebody who knows the earlier id has nothing.
  const thief = createTestBrowser(server)
  thief.cookies.set(SESSION, first)
  assert.match((await thief.open(askFor(app, 'openid').url)).url, /\/login$/)
})

test('a session is used by the next request, which still asks for consent', async () => {
  const browser = createTestBrowser(server)
  await tokensOf(server, app, 'openid', {}, browser)
  const page = await browser.open(askFor(app, 'openid').url)
  assert.match(page.url, /\/consent$/)
  assert.is(
    returned(await browser.open(askFor(app, 'openid', { prompt: 'none' }).url)).get('error'),
    'consent_required',
  )
  assert.match((await browser.open(askFor(app, 'openid', { max_age: '0' }).url)).url, /\/login$/)
  await clock.leap(120_000)
  assert.match((await browser.open(askFor(app, 'openid', { max_age: '60' }).url)).url, /\/login$/)
  assert.match((await browser.open(askFor(app, 'openid', { max_age: '600' }).url)).url, /\/consent$/)
  await clock.leap(12 * 3_600_000)
  assert.match((await browser.open(askFor(app, 'openid').url)).url, /\/login$/, 'after twelve hours')
})

test('a request that nobody finishes ends after a quarter of an hour', async () => {
  const { browser, page } = await atConsent()
  await clock.leap(15 * 60_000)
  const late = await browser.submit(page, { decision: 'allow' })
  assert.is(late.status, 400)
  assert.is(late.hasLeft, false)
})

test('a demo login needs some name', async () => {
  const browser = createTestBrowser(server)
  const login = await browser.open(askFor(app, SCOPE).url)
  const again = await browser.submit(login, { username: '   ' })
  assert.is(again.status, 400)
  assert.match(again.body, 'name="username"')
  assert.is(browser.cookies.has(SESSION), false)
})

test('logging out asks first, and ends online access, but not offline access', async () => {
  const browser = createTestBrowser(server)
  const online = await tokensOf(server, app, 'user/*.rs launch/patient patient/*.rs online_access', {}, browser)
  const offline = await tokensOf(server, app, 'user/*.rs launch/patient patient/*.rs offline_access', {}, browser)
  const read = async ({ access_token: token }: { access_token: string }) =>
    (await server.inject({ url: '/Patient/p1', headers: bearing(token) })).statusCode
  assert.is(await read(online), 200)
  assert.is((await browser.post('/oauth/logout', {})).status, 403)
  const page = await browser.open('/oauth/logout')
  assert.match(page.body, 'Dr. Demo')
  assert.is(await read(online), 200, 'asking ends nothing')
  const done = await browser.submit(page, { csrf: /name="csrf" value="([^"]+)"/.exec(page.body)?.[1] as string })
  assert.is(done.status, 200)
  assert.is(browser.cookies.has(SESSION), false)
  assert.is(await read(online), 401)
  assert.is((await refresh(server, app, online.refresh_token as string)).json().error, 'invalid_grant')
  assert.is(await read(offline), 200)
  assert.is((await refresh(server, app, offline.refresh_token as string)).statusCode, 200)
  assert.is((await browser.open('/oauth/logout')).status, 200)
})

test('beside a planted cookie, logging out ends the true session, and says nothing else', async () => {
  const browser = createTestBrowser(server)
  const online = await tokensOf(server, app, 'user/*.rs launch/patient patient/*.rs online_access', {}, browser)
  const other = createTestBrowser(server)
  await tokensOf(server, app, 'openid', {}, other)
  const read = async () =>
    (await server.inject({ url: '/Patient/p1', headers: bearing(online.access_token) })).statusCode
  const own = browser.cookies.get(SESSION) as string
  const csrfOf = (body: string) => /name="csrf" value="([^"]+)"/.exec(body)?.[1] as string
  const ofOther = csrfOf((await other.open('/oauth/logout')).body)
  const nothing = 'A'.repeat(43)
  for (const planted of [[nothing], ['x', '', nothing], [other.cookies.get(SESSION) as string]])
    for (const values of [
      [own, ...planted],
      [...planted, own],
    ]) {
      const headers = { cookie: values.map((value) => `${SESSION}=${value}`).join('; ') }
      const page = await server.inject({ url: '/oauth/logout', headers })
      assert.is(page.statusCode, 200)
      assert.match(page.body, 'name="csrf"', 'it asks')
      const foreign = await postForm(server, '/oauth/logout', { csrf: ofOther }, headers)
      assert.is(foreign.statusCode, 403, 'who planted a session cannot end the true one')
      assert.is(await read(), 200)
    }
  const others = Array.from({ length: 8 }, (_, at) => `${SESSION}=${'A'.repeat(42)}${at}`)
  const many = { cookie: [...others, `${SESSION}=${own}`].join('; ') }
  assert.is((await server.inject({ url: '/oauth/logout', headers: many })).statusCode, 400, 'too many to look up')
  const headers = { cookie: `${SESSION}=${other.cookies.get(SESSION)}; ${SESSION}=${own}` }
  const csrf = csrfOf((await server.inject({ url: '/oauth/logout', headers })).body)
  assert.is((await postForm(server, '/oauth/logout', { csrf }, headers)).statusCode, 200)
  assert.is(await read(), 401)
  assert.match((await other.open('/oauth/logout')).body, 'You were not signed in')
})

test('logging out during a login ends that login', async () => {
  const { browser, page } = await atConsent()
  const ask = await browser.open('/oauth/logout')
  await browser.submit(ask, { csrf: /name="csrf" value="([^"]+)"/.exec(ask.body)?.[1] as string })
  assert.is((await browser.submit(page, { decision: 'allow' })).status, 400)
})

test('patients are searched by name, birth date and identifier, each as it is written', async () => {
  const browser = createTestBrowser(server)
  const page = await browser.submit(await browser.open(askFor(app, SCOPE).url), { username: 'x' })
  const found = async (query: string) => {
    const { body, status } = await browser.open(`${page.url}?q=${encodeURIComponent(query)}`)
    assert.is(status, 200)
    return [...body.matchAll(/name="patient" value="([^"]+)"/g)]
      .map(([, id]) => id)
      .sort()
      .join(' ')
  }
  assert.is(await found(''), 'p1 p2')
  assert.is(await found('anna'), 'p1')
  assert.is(await found('anna example'), 'p1')
  assert.is(await found('anna,bob'), '')
  assert.is(await found('1970-12-31'), 'p1')
  assert.is(await found('1980'), 'p2')
  assert.is(await found('MRN-1,a|b$c'), 'p1')
  assert.is(await found('MRN-1,other'), '')
  assert.is(await found('" onfocus=alert(1)'), '')
  assert.not.match((await browser.open(`${page.url}?q=bob`)).body, '<b>Other</b>')
})

test('many patients are shown by pages, there and back', async () => {
  const many = Array.from({ length: 45 }, (_, at) => ({
    ...{ resourceType: 'Patient', id: `many${at}` },
    name: [{ family: 'Manifold' }],
  }))
  await store(server, many)
  const browser = createTestBrowser(server)
  let page = await browser.submit(await browser.open(askFor(app, SCOPE).url), { username: 'x' })
  page = await browser.open(`${page.url}?q=manifold`)
  const seen: string[][] = []
  const link = (rel: string): string | undefined =>
    new RegExp(`rel="${rel}" href="([^"]+)"`).exec(page.body)?.[1]?.replaceAll('&amp;', '&')
  for (;;) {
    seen.push([...page.body.matchAll(/name="patient" value="([^"]+)"/g)].map(([, id]) => id as string))
    const next = link('next')
    if (next === undefined) break
    page = await browser.open(new URL(next, 'https://fhir.example.org').href)
  }
  assert.equal(
    seen.map(({ length }) => length),
    [20, 20, 5],
  )
  assert.is(new Set(seen.flat()).size, 45)
  page = await browser.open(new URL(link('prev') as string, 'https://fhir.example.org').href)
  assert.equal(
    [...page.body.matchAll(/name="patient" value="([^"]+)"/g)].map(([, id]) => id),
    seen[1],
  )
  for (const { id } of many) await removeRecord(server, 'Patient', id)
})

test('a patient or encounter that is not there cannot be chosen', async () => {
  const browser = createTestBrowser(server)
  const page = await browser.submit(await browser.open(askFor(app, 'launch/patient launch/encounter').url), {
    username: 'x',
  })
  assert.is((await browser.submit(page, { patient: 'nobody' })).status, 403)
  assert.is((await browser.submit(page, { patient: '../Observation/o1' })).status, 400)
  const encounters = await browser.submit(page, { patient: 'p1' })
  assert.match(encounters.url, /\/encounter$/)
  assert.match(encounters.body, 'value="e1"')
  assert.not.match(encounters.body, 'value="e2"')
  assert.is((await browser.submit(encounters, { encounter: 'e2' })).status, 403, 'of another patient')
  assert.match((await browser.submit(encounters, { encounter: 'e1' })).url, /\/consent$/)
})

test('text of clients and patients is escaped', async () => {
  const odd = await registerApp(server, { client_name: '<script>alert(1)</script>' })
  const browser = createTestBrowser(server)
  const page = await browser.open(askFor(odd, SCOPE).url)
  assert.not.match(page.body, '<script')
  assert.match(page.body, '&lt;script&gt;')
  const consent = await goThroughTo(browser, page.url)
  assert.not.match(consent, '<script')
  assert.not.match(consent, '<b>Other</b>')
})

const goThroughTo = async (browser: TestBrowser, url: string): Promise<string> => {
  const patient = await browser.submit(await browser.open(url), { username: '<i>x</i>' })
  const consent = await browser.submit(patient, { patient: 'p2' })
  assert.not.match(consent.body, '<i>x</i>')
  return patient.body + consent.body
}

test('codes are 256 random bits, none like another', async () => {
  const browser = createTestBrowser(server)
  const codes = new Set<string>()
  for (let n = 0; n < 20; n += 1) {
    const code = codeOf(await goThrough(browser, askFor(app, 'openid').url))
    assert.match(code, /^[\w-]{43}$/)
    codes.add(code)
  }
  assert.is(codes.size, 20)
})

test.run()
