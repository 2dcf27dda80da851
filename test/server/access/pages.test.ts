/** Page links tell nothing to whoever decodes them, and lead only through what their caller may see. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Caller, definePlugin, type Restriction, systemClock } from '../../../kernel/index.ts'
import { matching } from '../../support/restrictions.ts'
import { type Clinic, clinicWith, type Json } from '../writes/clinic.ts'

let restrictions: readonly Restriction[] = []
let caller: Caller | undefined
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authenticate.tap('as told', () => caller)
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})

let clinic: Clinic
const put = async (id: string, active: boolean, language: string): Promise<void> => {
  const { status, text } = await clinic.ask('PUT', `/Patient/${id}`, { resourceType: 'Patient', id, active, language })
  assert.ok(status < 300, text)
}
test.before(async () => {
  clinic = await clinicWith({}, [gate])
  for (const language of ['de', 'en']) for (let n = 0; n < 12; n += 1) await put(`p${n}`, n % 4 === 0, language)
})
test.after(() => clinic.stop())
test.after.each(() => {
  restrictions = []
  caller = undefined
})

const pathOf = (url: string): string => url.slice(url.indexOf('/', 8))
const nextOf = ({ link }: Json): string | undefined => {
  const url = link.find((one: Json) => one.relation === 'next')?.url
  return url === undefined ? undefined : pathOf(url)
}
const tokenOf = (url: string): string => /_page=([^&]+)/.exec(url)?.[1] as string
const walk = async (url: string): Promise<readonly number[]> => {
  const sizes: number[] = []
  for (let next: string | undefined = url; next !== undefined; ) {
    const { status, json, text } = await clinic.ask('GET', next)
    assert.is(status, 200, text)
    sizes.push(json.entry?.length ?? 0)
    next = nextOf(json)
  }
  return sizes
}

const PAGED = ['/Patient?_count=2', '/Patient?_sort=_id&_count=2', '/Patient/_history?_count=2', '/_history?_count=2']

test('a page token holds nothing readable, and is of one length whatever the numbers in it are', async () => {
  for (const url of PAGED) {
    const tokens: string[] = []
    for (let next = nextOf((await clinic.ask('GET', url)).json); next !== undefined; ) {
      tokens.push(tokenOf(next))
      next = nextOf((await clinic.ask('GET', next)).json)
    }
    assert.ok(tokens.length > 3, url)
    for (const token of tokens) {
      assert.not.match(token, /^\d+$/, url)
      // Numbers of resources and the second of issue, as text.
      assert.not.match(Buffer.from(token, 'base64url').toString('latin1'), /\d,\d+,\d{9}/, url)
    }
    // Keys of the order asked for are those of the last match, which the caller has seen.
    if (!url.includes('_sort')) assert.is(new Set(tokens.map(({ length }) => length)).size, 1, url)
  }
})

test('a page of a history is bound to its caller, to what it was asked of and with, and good for a day', async () => {
  const first = (await clinic.ask('GET', '/Patient/_history?_count=2')).json
  const next = nextOf(first) as string
  const token = tokenOf(next)
  assert.is((await clinic.ask('GET', next)).status, 200)
  for (const other of [
    `/Patient/_history?_count=3&_page=${token}`,
    `/_history?_count=2&_page=${token}`,
    `/Patient/p1/_history?_count=2&_page=${token}`,
    `/Patient?_count=2&_page=${token}`,
    `/Patient/_history?_count=2&_page=${token.slice(0, -2)}`,
    `/Patient/_history?_count=2&_page=1700000000000000`,
  ])
    assert.is((await clinic.ask('GET', other)).status, 400, other)
  caller = { kind: 'client', client: 'another' }
  assert.is((await clinic.ask('GET', next)).status, 404)
})

test('the pages of a restricted history are full, and the last one has no next link', async () => {
  restrictions = [matching('Patient', 'active=true')]
  assert.equal(await walk('/Patient/_history?_count=2'), [2, 2, 2])
  assert.equal(await walk('/Patient/_history?_count=6'), [6])
  assert.equal(await walk('/_history?_count=4'), [4, 2])
  assert.equal(await walk('/Patient/p0/_history?_count=1'), [1, 1])
  restrictions = [matching('Patient', 'active=false')]
  assert.equal(await walk('/Patient/_history?_count=9'), [9, 9])
})

test('a resource whose versions are all hidden has no history, also where nothing was asked for', async () => {
  const future = new Date(Date.now() - 1).toISOString()
  restrictions = [matching('Patient', 'active=true')]
  assert.is((await clinic.ask('GET', '/Patient/p1/_history')).status, 404)
  assert.is((await clinic.ask('GET', `/Patient/p1/_history?_since=${future}`)).status, 404)
  assert.is((await clinic.ask('GET', `/Patient/never/_history?_since=${future}`)).status, 404)
  const own = await clinic.ask('GET', `/Patient/p0/_history?_since=${future}`)
  assert.equal([own.status, own.json.entry, own.json.total], [200, undefined, undefined])
})

test('a restricted history that goes on beyond the deadline of searches is given up', async () => {
  const over = AbortSignal.abort(new DOMException('The time is over', 'TimeoutError'))
  const clock = {
    ...systemClock,
    deadline: (ms: number) => (ms === 30_000 && restrictions.length > 0 ? over : systemClock.deadline(ms)),
  }
  const late = await clinicWith({}, [gate], { clock })
  try {
    for (let n = 0; n < 3; n += 1)
      await late.ask('PUT', `/Patient/p${n}`, { resourceType: 'Patient', id: `p${n}`, active: false })
    restrictions = [matching('Patient', 'active=true')]
    const { status, json } = await late.ask('GET', '/Patient/_history')
    assert.equal([status, json.issue[0].code], [403, 'too-costly'])
    assert.match(json.issue[0].diagnostics, '30 s')
  } finally {
    restrictions = []
    await late.stop()
  }
})

test.run()
