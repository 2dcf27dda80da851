/**
 * With the archiver on, every way to read, find, count or follow a QuestionnaireResponse is answered alike whether one is
 * stored, was deleted or never was, and nothing that was stored is in an answer, a log line or the trail.
 */
// npm test: postgres, which is asked statements here that no other file asks
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Asked, type Json, plain } from '../access/worlds.ts'
import { type Archive, openArchives, response, SECRET } from './archives.ts'

const TYPE = 'QuestionnaireResponse'
const HIDDEN = `/${TYPE}/hidden`
const get = (url: string, headers?: Record<string, string>): Asked => ({
  method: 'GET',
  url,
  ...(headers === undefined ? {} : { headers }),
})

const instance = (): Asked[] => [
  ...[
    {},
    { 'if-none-match': '*' },
    { 'if-none-match': 'W/"2"' },
    { 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' },
  ].flatMap((headers: Record<string, string>) => [get(HIDDEN, headers), { method: 'HEAD', url: HIDDEN, headers }]),
  ...['?_format=json', '?_summary=text', '?_summary=count', '?_elements=status', '/_history', '/_history?_count=1'].map(
    (end) => get(`${HIDDEN}${end}`),
  ),
  ...[1, 2, 3].map((version) => get(`${HIDDEN}/_history/${version}`)),
  ...['$meta', '$validate', '$validate?mode=delete', '$everything'].map((operation) => get(`${HIDDEN}/${operation}`)),
]

const OF_THE_TYPE = [
  '',
  '?_summary=count',
  '?_total=accurate',
  '?_total=estimate',
  '?_id=hidden',
  '?_id:missing=false',
  `?identifier=http://i|${SECRET}`,
  `?identifier=${SECRET}`,
  '?status=completed',
  '?status:not=stopped',
  `?questionnaire=http://q/${SECRET}`,
  '?subject=Patient/p',
  '?patient=p',
  '?encounter=Encounter/e',
  '?subject:Patient.family=open',
  '?authored=2024',
  '?_lastUpdated=gt2000-01-01',
  `?_tag=${SECRET}`,
  `?_text=${SECRET}`,
  `?_content=${SECRET}`,
  '?_filter=status eq completed',
  '?_has:Observation:derived-from:status=final',
  '?_sort=authored',
  '?_sort=-_lastUpdated',
  '?_include=*',
  '?_include=QuestionnaireResponse:subject',
  '?_revinclude=*',
  '?_contained=true',
  '?_contained=both&_containedType=contained',
  '?_explain=true',
  '?_elements=status',
  '?_list=l',
  '?_count=0',
  '/_history',
  '/_history?_count=1',
  '/_history?_since=2020-01-01',
  '/$meta',
  '/$export',
]

const ELSEWHERE = [
  '/Patient',
  '/Patient?_total=accurate',
  '/Patient?_explain=true',
  '/Patient?_id=p&_explain=true',
  '/Patient?_revinclude=*',
  '/Patient?_revinclude=QuestionnaireResponse:subject',
  '/Patient?_revinclude:iterate=QuestionnaireResponse:patient',
  '/Patient?_id=p&_revinclude=QuestionnaireResponse:subject&_summary=count',
  '/Encounter?_revinclude=QuestionnaireResponse:encounter',
  '/Patient?_has:QuestionnaireResponse:subject:status=completed',
  '/Patient?_has:QuestionnaireResponse:patient:_id=hidden',
  `/Patient?_has:QuestionnaireResponse:subject:identifier=${SECRET}`,
  '/Patient?_has:Encounter:patient:_has:QuestionnaireResponse:encounter:status=completed',
  '/Patient?_filter=_has:QuestionnaireResponse:subject:status eq completed',
  `/Patient?family=${SECRET}`,
  `/Patient?family=${SECRET}&_contained=true`,
  `/Patient?family=${SECRET}&_contained=both`,
  `/Patient?family=${SECRET}&_contained=true&_containedType=contained`,
  '/Patient?active=true&_contained=true&_containedType=container&_total=accurate',
  '/Patient?active=true&_contained=both&_summary=count',
  `/Patient?_content=${SECRET}`,
  `/Patient?_text=${SECRET}`,
  '/Observation?derived-from=QuestionnaireResponse/hidden',
  '/Observation?derived-from:QuestionnaireResponse.status=completed',
  '/Observation?derived-from.status=completed',
  '/Observation?_include=Observation:derived-from',
  '/Observation?_include=*',
  '/Patient/p/QuestionnaireResponse',
  '/Patient/p/QuestionnaireResponse?status=completed',
  '/Patient/p/*',
  '/Patient/p/*?_total=accurate',
  '/Patient/p/*?_summary=count',
  '/Encounter/e/*',
  '/Encounter/e/QuestionnaireResponse',
  '/Patient/p/$everything',
  '/Patient/p/$everything?_count=1',
  '/Patient/p/$everything?_type=QuestionnaireResponse',
  '/Patient/p/$everything?_since=2000-01-01',
  '/Encounter/e/$everything',
  '/Patient/$everything',
  '/?_type=QuestionnaireResponse',
  '/?_type=QuestionnaireResponse,Patient',
  '/?_type=Patient',
  '/?_lastUpdated=gt2000-01-01&_total=accurate',
  '/?_summary=count',
  '/?_id=hidden',
  `/?_content=${SECRET}`,
  `/?_tag=${SECRET}`,
  `/?identifier=${SECRET}`,
  '/?_revinclude=*',
  '/_history',
  '/_history?_count=1',
  '/_history?_since=2020-01-01',
  '/Patient/_history',
  '/$meta',
  '/Patient/$meta',
  '/metadata',
]

const searches = (): Asked[] => [
  ...OF_THE_TYPE.map((end) => get(encodeURI(`/${TYPE}${end}`))),
  ...ELSEWHERE.map((url) => get(encodeURI(url))),
  ...[`identifier=${SECRET}`, '_summary=count', `_content=${SECRET}`].flatMap((payload) =>
    ['/_search', `/${TYPE}/_search`, '/Patient/p/QuestionnaireResponse/_search'].map(
      (url): Asked => ({ method: 'POST', url: `${url}?${payload}` }),
    ),
  ),
]

const PATCH = { 'content-type': 'application/json-patch+json' }
const CONDITIONS = [`identifier=${SECRET}`, '_id=hidden', 'identifier=nobody', `_content=${SECRET}`]
const TEST = [{ op: 'test', path: '/status', value: 'completed' }]
const TAG = { resourceType: 'Parameters', parameter: [{ name: 'meta', valueMeta: { tag: [{ code: 't' }] } }] }

/** Changes that would show something of what is stored: each is refused. */
const showing = (): Asked[] => [
  ...['W/"1"', 'W/"2"', 'W/"3"', '*'].map(
    (etag): Asked => ({ method: 'PATCH', url: HIDDEN, headers: { ...PATCH, 'if-match': etag }, body: TEST }),
  ),
  { method: 'PATCH', url: HIDDEN, headers: PATCH, body: TEST },
  { method: 'PATCH', url: HIDDEN, body: { resourceType: 'Parameters', parameter: [] } },
  { method: 'POST', url: `${HIDDEN}/$meta-add`, body: TAG },
  { method: 'POST', url: `${HIDDEN}/$meta-delete`, body: TAG },
  ...CONDITIONS.flatMap((condition): Asked[] => [
    { method: 'PUT', url: `/${TYPE}?${condition}`, body: response(undefined) },
    { method: 'PUT', url: `/${TYPE}?${condition}`, body: response('hidden') },
    { method: 'PATCH', url: `/${TYPE}?${condition}`, headers: PATCH, body: TEST },
    { method: 'DELETE', url: `/${TYPE}?${condition}` },
    { method: 'POST', url: `/${TYPE}`, headers: { 'if-none-exist': condition }, body: response(undefined) },
  ]),
  ...['create', 'update', 'delete', 'profile'].map(
    (mode): Asked => ({
      method: 'POST',
      url: `${HIDDEN}/$validate`,
      body: {
        resourceType: 'Parameters',
        parameter: [
          { name: 'resource', resource: response('hidden') },
          { name: 'mode', valueCode: mode },
        ],
      },
    }),
  ),
  ...['create', 'delete'].map(
    (mode): Asked => ({
      method: 'POST',
      url: `/${TYPE}/$validate`,
      body: {
        resourceType: 'Parameters',
        parameter: [
          { name: 'resource', resource: response('hidden') },
          { name: 'mode', valueCode: mode },
        ],
      },
    }),
  ),
]

/** Resources that name the hidden one: the policy `fhir` lets them, and nothing is said of what they name. */
const referring = (): Asked[] => [
  {
    method: 'POST',
    url: '/Observation',
    body: {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'x' },
      derivedFrom: [{ reference: `${TYPE}?identifier=${SECRET}` }],
    },
  },
  get(`/Binary?_include=*`),
]

const toEntry = ({ method, url, body, headers = {} }: Asked): Json => {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, 'if-none-exist': ifNoneExist } = headers
  const patch = { resourceType: 'Binary', contentType: PATCH['content-type'], data: btoa(JSON.stringify(body)) }
  return {
    ...(body === undefined ? {} : { resource: Array.isArray(body) ? patch : body }),
    request: {
      ...{ method, url: url.slice(1) },
      ...(ifMatch === undefined ? {} : { ifMatch }),
      ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }),
      ...(ifNoneExist === undefined ? {} : { ifNoneExist }),
    },
  }
}
const BATCH = 10 // entries
const inBundle = (type: 'batch' | 'transaction', ...asked: readonly Asked[]): Asked => ({
  method: 'POST',
  url: '/',
  body: { resourceType: 'Bundle', type, entry: asked.map(toEntry) },
})
/** The reference of an entry is resolved by a search. */
const linking = (): Asked => inBundle('transaction', referring()[0] as Asked)

const asking = (): Asked[] => [...instance(), ...searches(), ...showing()]

let archives: readonly Archive[] = []
let compared = 0
let unequal: string[] = []
/** `answers`: how many the answer of one server holds. */
const compare = async (asked: Asked, answers = 1): Promise<void> => {
  const name = `${asked.method} ${asked.url} ${JSON.stringify(asked.headers ?? {})} ${JSON.stringify(asked.body ?? '')}`
  let pages = archives.map(() => asked)
  for (let page = 0; page < 20 && pages.length > 0; page += 1) {
    const given = await Promise.all(archives.map(({ ask }, at) => ask(pages[at] as Asked)))
    const [first] = given
    for (const answer of given) {
      assert.ok(answer.status < 500, `${name}: ${answer.text}`)
      if (plain(answer) !== plain(first!)) unequal.push(`${name}\n  ${plain(first!)}\n  ${plain(answer)}`)
      // The self link and an error repeat what was asked; nothing else may hold the word.
      const told = answer.text.replaceAll(/"url": ?"[^"]*"|"diagnostics": ?"[^"]*"/g, '')
      if (told.includes(SECRET)) unequal.push(`${name} shows ${told.slice(0, 300)}`)
    }
    compared += answers
    pages = given.flatMap((answer) => {
      const url = answer.text.includes('"relation":"next"')
        ? answer.json.link?.find((one: Json) => one.relation === 'next')?.url
        : undefined
      return url === undefined ? [] : [get(url.slice(url.indexOf('/', 8)))]
    })
  }
}
const assertEqual = (): void =>
  assert.is(unequal.length, 0, `${unequal.length} of ${compared} differ: ${unequal.slice(0, 3).join('\n')}`)

test.before(async () => {
  archives = await openArchives()
})
test.after(async () => {
  for (const { server } of archives) await server.stop()
})
test.after.each(() => {
  unequal = []
})

test('what is archived is answered as what never was', async () => {
  for (const asked of asking()) await compare(asked)
  assertEqual()
})

test('so it is in Bundles', async () => {
  const entries = asking().filter(({ method }) => method !== 'HEAD')
  // The entries of a batch are answered one by one. A transaction ends with the first that is refused.
  for (let from = 0; from < entries.length; from += BATCH) {
    const some = entries.slice(from, from + BATCH)
    await compare(inBundle('batch', ...some), some.length)
  }
  for (const asked of entries) await compare(inBundle('transaction', asked))
  await compare(linking())
  assertEqual()
})

test('each read of it is refused as one of a type that is not granted', async () => {
  for (const { ask, name } of archives) {
    for (const asked of [
      ...instance().filter(({ method, url }) => method === 'GET' && !url.endsWith('$everything')),
      ...OF_THE_TYPE.filter((end) => !/_list|\$export/.test(end)).map((end) => get(encodeURI(`/${TYPE}${end}`))),
    ]) {
      const { status, text } = await ask(asked)
      assert.is(status, 403, `${name}: ${asked.url}: ${text}`)
    }
    for (const asked of showing().slice(0, -2)) {
      const { status, text } = await ask(asked)
      assert.is(status, 403, `${name}: ${asked.method} ${asked.url}: ${text}`)
    }
  }
})

test('other types are found, read and changed as without the archiver', async () => {
  for (const { ask } of archives) {
    assert.is((await ask(get('/Patient/p'))).status, 200)
    assert.is((await ask(get('/Patient?family=open'))).json.entry.length, 1)
    assert.is((await ask(get('/Patient?_total=accurate'))).json.total, 1)
    const all = (await ask(get('/?_total=accurate'))).json
    assert.is(all.total, 2)
    assert.equal(
      (await ask(get('/Patient/p/$everything'))).json.entry.map(({ fullUrl }: Json) => fullUrl.slice(20)).sort(),
      ['Encounter/e', 'Patient/p'],
    )
  }
})

test('neither the log, the stored requests nor the trail holds what was archived', async () => {
  for (const { server, ask } of archives) {
    assert.not(JSON.stringify(server.lines).includes(SECRET))
    const [requests, trail] = [await ask(get('/_requests?_count=1000')), await ask(get('/_audit?_count=1000'))]
    assert.is(requests.status, 200, requests.text)
    assert.is(trail.status, 200, trail.text)
    assert.not(requests.text.includes(SECRET))
    assert.not(trail.text.includes(SECRET))
  }
})

test('the trail says who archived what', async () => {
  const { ask } = archives.find(({ name }) => name === 'there') as Archive
  const { json } = await ask(get(`/_audit?entity=${TYPE}/hidden&_count=100`))
  const changes = json.entry.filter(({ resource }: Json) => resource.outcome === '0')
  assert.is(changes.length, 2, JSON.stringify(json).slice(0, 2000))
})

test('more than four hundred answers were compared', () => assert.ok(compared > 400, `${compared}`))

test.run()
