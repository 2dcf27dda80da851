/** What exports hold: rows K15, K18 and K19, and the parameters that choose, by behaviour. */
// memory: long reads have no thread of their own there
import { gunzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { type ExportClinic, exportClinic, group, type Json, named, observation, patient } from './export-clinic.ts'

let clinic: ExportClinic
test.before.each(async () => {
  clinic = await exportClinic()
})
test.after.each(() => clinic.stop())
const DURING_EXPORT = 150 // changes
const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/]+/, '')
const filter = (...texts: readonly string[]): string =>
  texts.map((one) => `&_typeFilter=${encodeURIComponent(one)}`).join('')

test('K15: each line is a resource as it is stored, gzip gives the same', async () => {
  const text =
    '{\r\n  "resourceType": "Patient",\n\t"id": "odd", "name": [ {"text": "a\\nb\u2028c"} ],\n  "multipleBirthInteger": 1 }'
  assert.is((await clinic.ask('PUT', '/Patient/odd', text)).status, 201)
  const number =
    '{"resourceType":"Observation","id":"n","status":"final","code":{"text":"x"},"valueQuantity":{"value":1.00}}'
  assert.is((await clinic.ask('PUT', '/Observation/n', number)).status, 201)
  await clinic.put(
    ...Array.from({ length: 30 }, (_, n) => patient(`p${n}`, { name: [{ text: 'y'.repeat(n * 1000) }] })),
  )
  const { json } = await clinic.end(await clinic.start('/$export'))
  assert.is((await clinic.lines(json)).length, 32)
  for (const { url, count } of json.output) {
    const plain = await clinic.ask('GET', pathOf(url))
    assert.match(plain.headers['content-type'], /^application\/fhir\+ndjson/)
    assert.is(Number(plain.headers['content-length']), plain.raw.length)
    assert.is(plain.text.split('\n').filter((line) => line !== '').length, count)
    assert.not.match(plain.text, /\n\n|\r/)
    const packed = await clinic.ask('GET', pathOf(url), undefined, { 'accept-encoding': 'gzip' })
    assert.is(packed.headers['content-encoding'], 'gzip')
    assert.ok(gunzipSync(packed.raw).equals(plain.raw))
    assert.is(
      (await clinic.ask('GET', pathOf(url), undefined, { 'accept-encoding': 'gzip;q=0' })).headers['content-encoding'],
      undefined,
    )
  }
  const all = (await Promise.all(json.output.map(({ url }: Json) => clinic.ask('GET', pathOf(url)))))
    .map((one) => one.text)
    .join('')
  assert.match(all, '"value":1.00}')
  assert.match(all, 'a\\nb\u2028c')
})

test('an export of patients holds their compartments, one of a Group those of its members, each as they were', async () => {
  await clinic.put(
    ...['p1', 'p2', 'p3'].map((id) => patient(id)),
    patient('linked', { link: [{ other: { reference: 'Patient/p1' }, type: 'seealso' }] }),
    ...['p1', 'p2', 'p3'].map((id) => observation(`o-${id}`, id)),
    { resourceType: 'Observation', id: 'nobody', status: 'final', code: { text: 'x' } },
    { resourceType: 'Organization', id: 'org' },
    group('g', 'p1', 'p2'),
    {
      ...group('h', 'p1'),
      member: [{ entity: { reference: 'Patient/p3' } }, { entity: { reference: 'Patient/p1' }, inactive: true }],
    },
  )
  assert.is(
    await clinic.exported('/Patient/$export?_type=Patient,Observation'),
    'Observation/o-p1 Observation/o-p2 Observation/o-p3 Patient/linked Patient/p1 Patient/p2 Patient/p3',
  )
  assert.is(
    await clinic.exported('/Group/g/$export?_type=Patient,Observation'),
    'Observation/o-p1 Observation/o-p2 Patient/p1 Patient/p2',
  )
  assert.is(await clinic.exported('/Group/h/$export?_type=Patient,Observation'), 'Observation/o-p3 Patient/p3')
  const member = (id: string, period: Json) => ({ entity: { reference: `Patient/${id}` }, period })
  await clinic.put({
    ...group('in-their-period'),
    member: [member('p1', { end: '2020-01' }), member('p2', { start: '2020' }), member('p3', { start: '2999-01-01' })],
  })
  assert.is(await clinic.exported('/Group/in-their-period/$export?_type=Patient'), 'Patient/p2')
  const former = {
    resourceType: 'Parameters',
    parameter: [{ name: 'patient', valueReference: { reference: 'Patient/p1' } }],
  }
  assert.is((await clinic.ask('POST', '/Group/in-their-period/$export', former)).status, 400)
  const body = {
    resourceType: 'Parameters',
    parameter: [
      { name: 'patient', valueReference: { reference: 'Patient/p2' } },
      { name: '_type', valueString: 'Observation' },
    ],
  }
  const { headers } = await clinic.ask('POST', '/Group/g/$export', body)
  const { json } = await clinic.end(pathOf(headers['content-location']))
  assert.equal((await clinic.lines(json)).map(named), ['Observation/o-p2'])
})

test('filters of a type are alternatives, and leave other types alone', async () => {
  await clinic.put(
    patient('p1', { gender: 'female' }),
    patient('p2', { gender: 'male' }),
    observation('final', 'p1'),
    observation('amended', 'p1', { status: 'amended' }),
    observation('other', 'p2', { status: 'registered' }),
  )
  const all = 'Patient/p1 Patient/p2'
  const url = '/$export?_type=Patient,Observation'
  assert.is(
    await clinic.exported(`${url}${filter('Observation?status=final', 'Observation?status=amended')}`),
    `Observation/amended Observation/final ${all}`,
  )
  assert.is(
    await clinic.exported(`${url}${filter('Observation?status=final,Patient?gender=male')}`),
    'Observation/final Patient/p2',
  )
  assert.is(
    await clinic.exported(
      `${url}${filter('Observation?status=final&subject=Patient/p2', 'Observation?status=registered')}`,
    ),
    `Observation/other ${all}`,
  )
})

test('_elements shows some elements of the types that it concerns, marked as a part', async () => {
  await clinic.put(patient('p1', { gender: 'female', active: true }), observation('o', 'p1'))
  const { json } = await clinic.end(await clinic.start('/$export?_type=Patient,Observation&_elements=Patient.gender'))
  const lines = await clinic.lines(json)
  const [shown, whole] = [
    lines.find((one) => one.resourceType === 'Patient'),
    lines.find((one) => one.resourceType === 'Observation'),
  ]
  assert.equal([shown?.gender, shown?.active, shown?.meta.tag[0].code], ['female', undefined, 'SUBSETTED'])
  assert.equal([whole?.subject.reference, whole?.meta.tag], ['Patient/p1', undefined])
})

test('_since finds what was changed after it, and lists what was deleted', async () => {
  await clinic.put(patient('old'), patient('changed'), patient('gone'), observation('o', 'gone'))
  const { json: first } = await clinic.end(await clinic.start('/$export'))
  await clinic.put(patient('changed', { active: true }), patient('new'))
  for (const path of ['/Observation/o', '/Patient/gone']) assert.is((await clinic.ask('DELETE', path)).status, 204)
  await clinic.put(patient('short'))
  await clinic.ask('DELETE', '/Patient/short')
  const { json } = await clinic.end(await clinic.start(`/$export?_since=${first.transactionTime}`))
  assert.equal((await clinic.lines(json)).map(named).sort(), ['Patient/changed', 'Patient/new'])
  const urls = (await clinic.lines(json, 'deleted')).flatMap(({ type, entry }) => {
    assert.is(type, 'transaction')
    return entry.map(({ request }: Json) => `${request.method} ${request.url}`)
  })
  assert.equal(urls.sort(), ['DELETE Observation/o', 'DELETE Patient/gone', 'DELETE Patient/short'])
  const { json: ofPatients } = await clinic.end(
    await clinic.start(`/Patient/$export?_type=Observation&_since=${first.transactionTime}`),
  )
  assert.is((await clinic.lines(ofPatients, 'deleted'))[0]?.entry[0].request.url, 'Observation/o')
})

/** All entries of the history of the server, the newest first. */
const wholeHistory = async (): Promise<readonly Json[]> => {
  const entries: Json[] = []
  for (let url: string | undefined = '/_history?_count=1000'; url !== undefined; ) {
    const { json }: { json: Json } = await clinic.ask('GET', url)
    entries.push(...(json.entry ?? []))
    const next: string | undefined = json.link.find(({ relation }: Json) => relation === 'next')?.url
    url = next === undefined ? undefined : pathOf(next)
  }
  return entries
}

/** Type/id → the content of the newest version up to the time. */
const stateAt = (history: readonly Json[], time: string): Map<string, string> => {
  const state = new Map<string, string>()
  const seen = new Set<string>()
  for (const { resource, request, response } of history) {
    const name = String(request.method === 'POST' ? named(resource) : request.url).split('/_history')[0] as string
    if (seen.has(name) || response.lastModified > time) continue
    seen.add(name)
    if (resource !== undefined) state.set(name, JSON.stringify(resource))
  }
  return state
}

const checkAgainstHistory = async (manifest: Json, history: readonly Json[]): Promise<number> => {
  const lines = await clinic.lines(manifest)
  const expected = stateAt(history, manifest.transactionTime)
  const found = new Map(lines.map((one) => [named(one), JSON.stringify(one)]))
  assert.is(found.size, lines.length, 'a resource is there twice')
  for (const [name, text] of expected) assert.is(found.get(name), text, `${name} at ${manifest.transactionTime}`)
  assert.is(found.size, expected.size, [...found.keys()].filter((one) => !expected.has(one)).join(' '))
  return lines.length
}

test('K18: while others create, change and delete, an export holds each resource as it was at its time', async () => {
  const ids = Array.from({ length: 60 }, (_, n) => `w${n}`)
  await clinic.put(...ids.map((id) => patient(id)))
  let isOver = false
  let writes = 0
  // All of them write so often during each export, and then one goes on: a busy machine would have more to read again.
  let most = 0
  let round = Promise.withResolvers<void>()
  const begin = (): void => {
    most += DURING_EXPORT
    round.resolve()
    round = Promise.withResolvers<void>()
  }
  const write = async (writer: number): Promise<void> => {
    for (let n = writer; ; n += 7) {
      while (writer > 0 && writes >= most && !isOver) await round.promise
      if (isOver) return
      const id = ids[n % ids.length] as string
      const [method, url] =
        n % 5 === 0 ? ['DELETE', `/Patient/${id}`] : n % 3 === 0 ? ['POST', '/Observation'] : ['PUT', `/Patient/${id}`]
      const body =
        method === 'DELETE'
          ? undefined
          : method === 'POST'
            ? observation('', id, { id: undefined, status: 'final' })
            : patient(id, { multipleBirthInteger: n })
      const { status, text } = await clinic.ask(method as string, url as string, body)
      assert.ok(status < 300 || status === 409, text)
      writes += 1
    }
  }
  const writers = Array.from({ length: 8 }, (_, n) => write(n))
  const manifests: Json[] = []
  for (const _export of [1, 2]) {
    begin()
    const job = await clinic.start('/$export?_type=Patient,Observation')
    manifests.push((await clinic.end(job)).json)
  }
  isOver = true
  round.resolve()
  await Promise.all(writers)
  assert.ok(writes > 100, `${writes} writes`)
  const history = await wholeHistory()
  for (const manifest of manifests) assert.ok((await checkAgainstHistory(manifest, history)) > 0)
})

test('K19: a chain of exports by _since has no gap and no repeat, with a change held open at each kick-off', async () => {
  await clinic.stop()
  let gate = Promise.withResolvers<void>()
  const slow = definePlugin({
    name: 'slow-writes',
    setup({ hooks }) {
      hooks.onWrite.tapPromise('hold', async ({ next }) => {
        if (next.id.startsWith('slow')) await gate.promise
      })
    },
  })
  clinic = await exportClinic({ more: [slow] })
  const seen: string[] = []
  let since = ''
  for (let round = 0; round < 3; round += 1) {
    gate = Promise.withResolvers<void>()
    await clinic.put(patient(`quick${round}`))
    const holding = clinic.ask('PUT', `/Patient/slow${round}`, patient(`slow${round}`))
    await new Promise((resolve) => setTimeout(resolve, 20))
    const beginning = clinic.start(`/$export?_type=Patient${since}`)
    // On PostgreSQL the kick-off waits for a second; elsewhere for the change, as nothing else may be written.
    setTimeout(() => gate.resolve(), 1_300)
    const { json } = await clinic.end(await beginning)
    assert.is((await holding).status, 201)
    seen.push(...(await clinic.lines(json)).map(named))
    since = `&_since=${json.transactionTime}`
  }
  const { json } = await clinic.end(await clinic.start(`/$export?_type=Patient${since}`))
  seen.push(...(await clinic.lines(json)).map(named))
  const all = [0, 1, 2].flatMap((round) => [`Patient/quick${round}`, `Patient/slow${round}`])
  assert.equal(seen.sort(), all.sort())
})

test('what was answered before the kick-off is in the export, also in the same millisecond', async () => {
  for (let n = 0; n < 10; n += 1) {
    await clinic.put(patient(`now${n}`))
    const job = await clinic.start('/$export?_type=Patient')
    const { json } = await clinic.end(job)
    assert.is(json.output[0]?.count, n + 1)
    await clinic.ask('DELETE', job)
  }
})

test.run()
