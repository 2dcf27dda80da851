/**
 * Conditional interactions that meet: however the criterion is written, clients that ask for the same resource at the same
 * time leave one. https://hl7.org/fhir/R4/http.html#ccreate
 */
// npm test: postgres, where transactions overlap
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Fhir } from '../../../plugins/fhir/service.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { careDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import type { Entry, Json } from './clinic.ts'

const S = 'http://races.example'
const FHIR = { 'content-type': 'application/fhir+json' }

/** What others do between the search of an interaction and its transaction, once, where the resource has this language. */
const WAITING = 'x-waiting'
let meanwhile: (() => Promise<void>) | undefined
/** What others do inside its transaction, once, behind the locks of all entries. */
let inside: (() => Promise<void>) | undefined
const gate = definePlugin({
  name: 'gate',
  needs: { fhir: Fhir },
  setup({ needs, hooks }) {
    hooks.onWrite.tapPromise('gate', async ({ resource }) => {
      if (resource?.language !== WAITING) return
      const others = inside
      inside = undefined
      await others?.()
    })
    needs.fhir.check({
      name: 'gate',
      checkContent({ resource }) {
        if (resource.language !== WAITING) return
        const others = meanwhile
        meanwhile = undefined
        return others?.()
      },
    })
  },
})

const definitions = careDefinitions()
let server: TestServer
test.before(async () => {
  server = await serverWith({
    plugins: [database, definitions, ...fhirPlugins, gate, terminology],
    settings: { conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())

interface Reply {
  readonly status: number
  readonly json: Json
}

const ask = async (
  method: string,
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> => {
  const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
  const answer = await server.inject({ method: method as 'GET', url, headers: { ...FHIR, ...headers }, ...payload })
  return { status: answer.statusCode, json: answer.body === '' ? {} : answer.json() }
}

/** A kind of criterion: `make` and `query` of a value that nothing has used yet. */
interface Kind {
  readonly name: string
  readonly make: (value: string) => Json
  readonly query: (value: string) => string
  /** What is stored before anybody asks. */
  readonly before?: (value: string) => readonly Json[]
}

const patient = (more: Json): Json => ({ resourceType: 'Patient', ...more })
const observation = (more: Json): Json => ({ resourceType: 'Observation', status: 'final', ...more })
const coded = (code: string): Json => ({ code: { coding: [{ system: S, code }] } })
const identified = (value: string, more: Json = {}): Json => patient({ identifier: [{ system: S, value }], ...more })
const label = (code: string): Json => ({ system: S, code })

const KINDS: readonly Kind[] = [
  { name: 'token with its system', make: identified, query: (v) => `identifier=${S}|${v}` },
  { name: 'token without a system', make: identified, query: (v) => `identifier=${v}` },
  {
    name: 'token that has no system',
    make: (value) => patient({ identifier: [{ value }] }),
    query: (v) => `identifier=|${v}`,
  },
  {
    name: 'token known under another system',
    before: (value) => [patient({ identifier: [{ system: 'http://other.example', value }], active: false })],
    make: (value) => identified(value, { active: true }),
    query: (v) => `identifier=${v}&active=true`,
  },
  {
    name: 'email',
    make: (v) => patient({ telecom: [{ system: 'email', value: `${v}@races.example` }] }),
    query: (v) => `email=${v}@races.example`,
  },
  {
    name: 'two tokens',
    make: (v) => identified(v, { telecom: [{ system: 'email', value: `${v}@two.example` }] }),
    query: (v) => `identifier=${v}&email=${v}@two.example`,
  },
  { name: 'several values', make: identified, query: (v) => `identifier=${v},${v}-other` },
  {
    name: '_tag without a system',
    make: (v) => patient({ meta: { tag: [label(v)] } }),
    query: (v) => `_tag=${v}`,
  },
  {
    name: '_security without a system',
    make: (v) => patient({ meta: { security: [label(v)] } }),
    query: (v) => `_security=${v}`,
  },
  {
    name: '_profile',
    make: (v) => patient({ meta: { profile: [`${S}/${v}`] } }),
    query: (v) => `_profile=${S}/${v}`,
  },
  { name: 'string', make: (v) => patient({ name: [{ family: v }] }), query: (v) => `family:exact=${v}` },
  {
    name: 'date beside a string',
    make: (v) => patient({ name: [{ family: v }], birthDate: '1970-01-02' }),
    query: (v) => `birthdate=1970-01-02&family=${v}`,
  },
  {
    name: 'reference',
    make: (v) => patient({ managingOrganization: { reference: `Organization/${v}` } }),
    query: (v) => `organization=Organization/${v}`,
  },
  {
    name: 'identifier of a reference',
    make: (v) => patient({ managingOrganization: { identifier: { system: S, value: v } } }),
    query: (v) => `organization:identifier=${v}`,
  },
  {
    name: 'chain',
    before: (v) => [{ resourceType: 'Organization', id: v, identifier: [{ system: S, value: v }] }],
    make: (v) => patient({ managingOrganization: { reference: `Organization/${v}` } }),
    query: (v) => `organization.identifier=${v}`,
  },
  {
    name: 'chain along an absolute reference',
    before: (v) => [{ resourceType: 'Organization', id: v, identifier: [{ system: S, value: v }] }],
    make: (v) => observation({ subject: { reference: `http://localhost/Patient/${v}` }, ...coded(v) }),
    query: (v) => `subject=http://localhost/Patient/${v}&code=${v}`,
  },
  {
    name: 'value set',
    before: (v) => [
      {
        resourceType: 'ValueSet',
        id: v,
        url: `${S}/${v}`,
        status: 'active',
        compose: { include: [{ system: S, concept: [{ code: v }] }] },
      },
    ],
    make: (v) => observation(coded(v)),
    query: (v) => `code:in=${S}/${v}`,
  },
  {
    name: 'composite',
    make: (v) => observation({ ...coded(v), valueQuantity: { value: 5, unit: 'g' } }),
    query: (v) => `code-value-quantity=${v}$5`,
  },
  { name: '_filter', make: identified, query: (v) => `_filter=identifier eq ${v}` },
]

/** Beside 2: more than a server has sessions of PostgreSQL for kinds that take different ways there, else a few. */
const crowdOf = ({ name }: Kind): number => (['token without a system', 'chain', 'value set'].includes(name) ? 24 : 6)

let last = 0
const fresh = async ({ name, before }: Kind, beside: string): Promise<string> => {
  last += 1
  const value = `${name.replace(/[^a-z]+/g, '')}${last}${beside}`
  for (const one of before?.(value) ?? []) {
    const made = await (one.id === undefined
      ? ask('POST', `/${one.resourceType}`, one)
      : ask('PUT', `/${one.resourceType}/${one.id}`, one))
    assert.is(made.status, 201, JSON.stringify(made.json))
  }
  return value
}

const encoded = (query: string): string => query.replaceAll(' ', '%20')
const left = async (type: string, query: string): Promise<number> =>
  (await ask('GET', `/${type}?${encoded(query)}&_summary=count`)).json.total

const counted = (statuses: readonly (number | string)[]): Record<string, number> => {
  const found: Record<string, number> = {}
  for (const status of statuses) found[status] = (found[status] ?? 0) + 1
  return found
}
const atOnce = <T>(count: number, work: (at: number) => Promise<T>): Promise<readonly T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)))

const noted = (resource: Json, at: number): Json => ({ ...resource, language: at % 2 === 0 ? 'en' : 'de' })
const once = (count: number) => ({ 200: count - 1, 201: 1 })

const inBundle = async (kind: 'batch' | 'transaction', entry: readonly Entry[]): Promise<readonly string[]> => {
  const { status, json } = await ask('POST', '/', { resourceType: 'Bundle', type: kind, entry })
  assert.is(status, 200, JSON.stringify(json))
  return json.entry.map(({ response }: Json) => response.status.slice(0, 3))
}

/** Each way to ask for the resource of a condition, as the statuses of one client. */
const WAYS: Readonly<Record<string, (kind: Kind, value: string, at: number) => Promise<readonly (number | string)[]>>> =
  {
    create: async ({ make, query }, value) => {
      const body = make(value)
      return [(await ask('POST', `/${body.resourceType}`, body, { 'if-none-exist': encoded(query(value)) })).status]
    },
    update: async ({ make, query }, value, at) => {
      const body = noted(make(value), at)
      return [(await ask('PUT', `/${body.resourceType}?${encoded(query(value))}`, body)).status]
    },
    transaction: ({ make, query }, value) => {
      const resource = make(value)
      const request = { method: 'POST', url: resource.resourceType, ifNoneExist: encoded(query(value)) }
      return inBundle('transaction', [{ resource, request }])
    },
    'update in a transaction': ({ make, query }, value, at) => {
      const resource = noted(make(value), at)
      return inBundle('transaction', [
        { resource, request: { method: 'PUT', url: `${resource.resourceType}?${encoded(query(value))}` } },
      ])
    },
    batch: ({ make, query }, value) => {
      const resource = make(value)
      const request = { method: 'POST', url: resource.resourceType, ifNoneExist: encoded(query(value)) }
      return inBundle('batch', [
        { resource, request },
        { resource, request },
      ])
    },
  }

const CROWDED = 2
for (const [nth, kind] of KINDS.entries())
  test(`one resource is left by 2 and by ${crowdOf(kind)} clients at once: ${kind.name}`, async () => {
    // Two clients ask in each way. A crowd asks in two of the ways, which are others for the next kind.
    for (const [at, [way, ask]] of Object.entries(WAYS).entries())
      for (const clients of (at + CROWDED * nth) % Object.keys(WAYS).length < CROWDED ? [2, crowdOf(kind)] : [2]) {
        const value = await fresh(kind, `n${clients}`)
        const statuses = (await atOnce(clients, (at) => ask(kind, value, at))).flat()
        assert.equal(counted(statuses), once(statuses.length), way)
        const { resourceType } = kind.make(value)
        assert.is(await left(resourceType, kind.query(value)), 1, way)
      }
  })

for (const kind of KINDS)
  test(`2 and ${crowdOf(kind)} conditional patches, then deletions at once are about one resource: ${kind.name}`, async () => {
    for (const clients of [2, crowdOf(kind)]) {
      const value = await fresh(kind, `p${clients}`)
      const resource = kind.make(value)
      const type = resource.resourceType
      const url = `/${type}?${encoded(kind.query(value))}`
      const patch = (at: number) =>
        ask('PATCH', url, [{ op: 'add', path: '/language', value: `x-${at}` }], {
          'content-type': 'application/json-patch+json',
        })
      assert.equal(counted((await atOnce(clients, patch)).map(({ status }) => status)), { 404: clients })
      const { id } = (await ask('POST', `/${type}`, resource)).json
      assert.equal(counted((await atOnce(clients, patch)).map(({ status }) => status)), { 200: clients })
      assert.is((await ask('GET', `/${type}/${id}`)).json.meta.versionId, String(clients + 1))
      const gone = await atOnce(clients, () => ask('DELETE', url))
      assert.equal(counted(gone.map(({ status }) => status)), { 204: clients })
      assert.is((await ask('GET', `/${type}/${id}/_history`)).json.total, clients + 2)
    }
  })

test('criteria that are written differently and mean the same resource leave one', async () => {
  const queries = (v: string) => [
    `identifier=${v}`,
    `identifier=${S}|${v}`,
    `identifier=${S}|${v}&active=true`,
    `active=true&identifier=${v}`,
    `family=${v}`,
  ]
  for (const round of ['a', 'b', 'c']) {
    const v = `overlap${round}`
    const body = identified(v, { active: true, name: [{ family: v }] })
    const answers = await atOnce(25, (at) =>
      at % 2 === 0
        ? ask('POST', '/Patient', body, { 'if-none-exist': queries(v)[at % 5] as string })
        : ask('PUT', `/Patient?${queries(v)[at % 5]}`, body),
    )
    assert.equal(counted(answers.map(({ status }) => status)), once(25))
    assert.is(await left('Patient', `identifier=${v}`), 1)
  }
})

test('a conditional create beside plain creates, whose index rows come later, makes no second one', async () => {
  for (const round of ['a', 'b']) {
    const v = `beside${round}`
    const plain = atOnce(60, (at) => ask('POST', '/Patient', identified(`${v}plain${at}`)))
    const answers = await atOnce(24, () =>
      ask('POST', '/Patient', identified(v), { 'if-none-exist': `identifier=${v}` }),
    )
    assert.equal(counted(answers.map(({ status }) => status)), once(24))
    assert.equal(counted((await plain).map(({ status }) => status)), { 201: 60 })
    const found = await atOnce(60, (at) =>
      ask('POST', '/Patient', identified('never'), { 'if-none-exist': `identifier=${v}plain${at}` }),
    )
    assert.equal(counted(found.map(({ status }) => status)), { 200: 60 })
    assert.is(await left('Patient', `identifier=${v}`), 1)
  }
})

test('entries of one transaction under one criterion make one resource or none', async () => {
  for (const kind of KINDS) {
    const value = await fresh(kind, 'twice')
    const resource = kind.make(value)
    const type = resource.resourceType
    const query = encoded(kind.query(value))
    const creating: Entry = { resource, request: { method: 'POST', url: type, ifNoneExist: query } }
    const updating: Entry = { resource, request: { method: 'PUT', url: `${type}?${query}` } }
    const plain: Entry = { resource, request: { method: 'POST', url: type } }
    for (const entry of [
      [creating, creating],
      [updating, updating],
      [creating, updating],
      [creating, plain],
    ]) {
      const answer = await ask('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
      assert.is(answer.status, 412, `${kind.name} ${JSON.stringify(answer.json)}`)
      assert.is(answer.json.issue[0].code, 'multiple-matches')
      assert.is(await left(type, kind.query(value)), 0, kind.name)
    }
  }
})

test('a condition of a transaction does not find what a conditional deletion of it takes', async () => {
  const { id } = (await ask('POST', '/Patient', identified('replaced'))).json
  const statuses = await inBundle('transaction', [
    {
      resource: identified('replaced'),
      request: { method: 'POST', url: 'Patient', ifNoneExist: 'identifier=replaced' },
    },
    { request: { method: 'DELETE', url: 'Patient?identifier=replaced' } },
  ])
  assert.equal(statuses, ['201', '204'])
  assert.is((await ask('GET', `/Patient/${id}`)).status, 410)
  assert.is(await left('Patient', 'identifier=replaced'), 1)
})

for (const kind of KINDS)
  test(`what another client makes behind the search and before the transaction is found: ${kind.name}`, async () => {
    const waiting = (value: string): Json => ({ ...kind.make(value), language: WAITING })
    const ways: Readonly<Record<string, (type: string, value: string, query: string) => Promise<Reply>>> = {
      create: (type, value, query) => ask('POST', `/${type}`, waiting(value), { 'if-none-exist': query }),
      update: (type, value, query) => ask('PUT', `/${type}?${query}`, waiting(value)),
    }
    for (const [way, perform] of Object.entries(ways)) {
      const value = await fresh(kind, 'behind')
      const other = kind.make(value)
      let id = ''
      meanwhile = async () => {
        id = (await ask('POST', `/${other.resourceType}`, other)).json.id
      }
      const answer = await perform(other.resourceType, value, encoded(kind.query(value)))
      assert.equal([answer.status, answer.json.id], [200, id], `${way} ${JSON.stringify(answer.json)}`)
      assert.is(await left(other.resourceType, kind.query(value)), 1, way)
    }
    const value = await fresh(kind, 'reference')
    const target = kind.make(value)
    meanwhile = async () => void (await ask('POST', `/${target.resourceType}`, target))
    await ask('POST', `/${target.resourceType}`, target)
    const reference = `${target.resourceType}?${encoded(kind.query(value))}`
    const answer = await ask('POST', '/', {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        {
          resource: { resourceType: 'Basic', language: WAITING, subject: { reference } },
          request: { method: 'POST', url: 'Basic' },
        },
      ],
    })
    assert.is(answer.status, 412, `a second match of a reference: ${JSON.stringify(answer.json)}`)
  })

test('an id that another client takes behind the search is not replaced where it does not match', async () => {
  const matching = (id: string): Json => identified(id, { id, active: true })
  const excluded = (id: string): Json => identified(`${id}-other`, { id, active: false })
  const asked: Readonly<Record<string, (id: string) => Promise<Reply>>> = {
    alone: (id) => ask('PUT', `/Patient?identifier=${id}`, { ...matching(id), language: WAITING }),
    'in a transaction': (id) =>
      ask('POST', '/', {
        resourceType: 'Bundle',
        type: 'transaction',
        entry: [
          {
            resource: { ...matching(id), language: WAITING },
            request: { method: 'PUT', url: `Patient?identifier=${id}` },
          },
        ],
      }),
  }
  const stored = async (id: string): Promise<readonly unknown[]> => {
    const { meta, active } = (await ask('GET', `/Patient/${id}`)).json
    return [meta.versionId, active]
  }
  const others = async (resource: Json): Promise<void> => {
    const { status } = await ask('PUT', `/Patient/${resource.id}`, resource)
    assert.ok(status < 300)
  }
  for (const [way, perform] of Object.entries(asked)) {
    const place = way.replaceAll(' ', '-')
    const taken = `taken-${place}`
    meanwhile = () => others(excluded(taken))
    const created = await perform(taken)
    assert.is(created.status, 409, `${way} ${JSON.stringify(created.json)}`)
    assert.match(created.json.issue[0].diagnostics, `Patient/${taken} exists and does not match`)
    assert.equal(await stored(taken), ['1', false])

    const moved = `moved-${place}`
    await others(matching(moved))
    meanwhile = () => others(excluded(moved))
    const changed = await perform(moved)
    assert.is(changed.status, 409, `${way} ${JSON.stringify(changed.json)}`)
    assert.match(changed.json.issue[0].diagnostics, `Patient/${moved} exists and does not match`)
    assert.equal(await stored(moved), ['2', false])

    const found = `found-${place}`
    await others(excluded(found))
    meanwhile = () => others(matching(found))
    assert.is((await perform(found)).status, 200, way)
    assert.equal(await stored(found), ['3', true])
  }
})

// A database with one writer lets nobody write inside another one's transaction.
if (chosenKind.name === 'postgres')
  test('an id that another client takes behind the lock is judged anew', async () => {
    const update = (id: string, criterion: string) =>
      ask('POST', '/', {
        resourceType: 'Bundle',
        type: 'transaction',
        entry: [
          { resource: patient({ language: WAITING }), request: { method: 'POST', url: 'Patient' } },
          { resource: identified(id, { id }), request: { method: 'PUT', url: `Patient?identifier=${criterion}` } },
        ],
      })
    const taking = (id: string) => async () =>
      void (await ask('PUT', `/Patient/${id}`, identified(id, { id, active: true })))
    inside = taking('late-match')
    const replaced = await update('late-match', 'late-match')
    assert.is(replaced.status, 200, JSON.stringify(replaced.json))
    assert.is((await ask('GET', '/Patient/late-match')).json.meta.versionId, '2')
    inside = taking('late-other')
    const refused = await update('late-other', 'something-else')
    assert.is(refused.status, 409)
    assert.match(refused.json.issue[0].diagnostics, 'Patient/late-other exists and does not match')
    assert.is((await ask('GET', '/Patient/late-other')).json.meta.versionId, '1')
  })

test('a value set that changes behind the search is asked again', async () => {
  const set = (codes: readonly string[]): Json => ({
    resourceType: 'ValueSet',
    id: 'changing',
    url: `${S}/changing`,
    status: 'active',
    compose: { include: [{ system: S, concept: codes.map((code) => ({ code })) }] },
  })
  const headers = { 'if-none-exist': `code:in=${S}/changing` }
  await ask('PUT', '/ValueSet/changing', set(['nothing']))
  let made: Reply | undefined
  meanwhile = async () => {
    assert.is((await ask('PUT', '/ValueSet/changing', set(['nothing', 'widened']))).status, 200)
    made = await ask('POST', '/Observation', observation(coded('widened')), headers)
  }
  const answer = await ask('POST', '/Observation', observation({ ...coded('widened'), language: WAITING }), headers)
  assert.is(made?.status, 201)
  assert.equal([answer.status, answer.json.id], [200, made?.json.id])
})

test('a conditional deletion of several leaves those that match no longer', async () => {
  const several = await serverWith({
    plugins: [database, definitions, ...fhirPlugins, gate, terminology],
    settings: { conformance: { conditional_delete: 'multiple' } },
  })
  const before = server
  server = several
  try {
    for (let round = 0; round < 5; round += 1) {
      const value = `several${round}`
      const ids: string[] = []
      for (let n = 0; n < 6; n += 1) ids.push((await ask('POST', '/Patient', identified(value))).json.id)
      const moved = { ...identified('kept'), id: ids[0] }
      const [update, deletion] = await Promise.all([
        ask('PUT', `/Patient/${ids[0]}`, moved),
        ask('DELETE', `/Patient?identifier=${value}`),
      ])
      assert.is(deletion.status, 204)
      const { entry } = (await ask('GET', `/Patient/${ids[0]}/_history`)).json
      const methods = entry.map(({ request }: Json) => request.method)
      // Whichever came first: what was moved before is not deleted, what was deleted before is brought back or refused.
      assert.not.equal(methods, ['DELETE', 'PUT', 'POST'])
      assert.ok([200, 201, 405].includes(update.status), String(update.status))
      assert.is(await left('Patient', `identifier=${value}`), 0)
    }
  } finally {
    server = before
    await several.stop()
  }
})

test.run()
