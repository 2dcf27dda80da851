/**
 * The Host header, which a client chooses, makes links and decides nothing: which absolute references are this server's is
 * told by `public_url`, else by the address it listens at. https://hl7.org/fhir/R4/references.html#literal
 */
// database: sqlite, because the header is read before anything is asked of the database; search/whole-address.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../kernel/index.ts'
import references from '../../plugins/references/index.ts'
import { createChance } from '../support/chance.ts'
import { inCompartment } from '../support/restrictions.ts'
import { type Answered, type Clinic, clinicWith, type Json, post } from './writes/clinic.ts'

const HOSTS = [undefined, 'other.example', 'evil.example']
const SERVER = { bind: '127.0.0.1:0' }

let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})

const observation = (id: string, reference: string): Json => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'x' },
  subject: { reference },
})
const under = (host: string | undefined) => (host === undefined ? {} : { headers: { host } })
const put = async (clinic: Clinic, resource: Json): Promise<void> => {
  const answer = await clinic.ask('PUT', `/${resource.resourceType}/${resource.id}`, resource)
  assert.is(answer.status, 201, answer.text)
}
const patients = async (clinic: Clinic, ...ids: readonly string[]): Promise<void> => {
  for (const id of ids) await put(clinic, { resourceType: 'Patient', id })
}
const found = ({ status, json }: Answered): string =>
  `${status} ${(json.entry ?? []).map(({ resource }: Json) => resource.id).sort()}`

/** The answers under each Host, which have to be one. */
const alike = async (what: string, ask: (host: string | undefined) => Promise<string>): Promise<string> => {
  const answers: string[] = []
  for (const host of HOSTS) answers.push(await ask(host))
  for (const [at, answer] of answers.entries()) assert.is(answer, answers[0], `${what} under ${HOSTS[at]}`)
  return answers[0] as string
}

for (const [how, isPublic] of [
  ['the address that is listened at', false],
  ['public_url', true],
] as const) {
  const started = async (policy: 'strict' | 'fhir'): Promise<{ clinic: Clinic; own: string }> => {
    const server = isPublic ? { public_url: 'https://fhir.example/r4/' } : SERVER
    const conformance = { update_as_create: true, reference_policy: policy }
    const clinic = await clinicWith({ server, conformance }, [references, gate])
    return { clinic, own: isPublic ? 'https://fhir.example/r4' : await clinic.server.listen() }
  }

  test(`strict: a resource that is referred to under ${how} is deleted under no Host`, async () => {
    const { clinic, own } = await started('strict')
    await patients(clinic, 'p3')
    await put(clinic, observation('a', `${own}/Patient/p3`))
    const status = await alike('delete', async (host) =>
      String((await clinic.ask('DELETE', '/Patient/p3', undefined, under(host))).status),
    )
    assert.is(status, '409')
    assert.is((await clinic.ask('GET', '/Patient/p3')).status, 200)
    await clinic.stop()
  })

  test(`strict: a foreign reference is refused under every Host, and the refusal names the own URL, ${how}`, async () => {
    const { clinic, own } = await started('strict')
    await patients(clinic, 'p2')
    for (const foreign of HOSTS.slice(1)) {
      const sent = observation('b', `http://${foreign}/Patient/p2`)
      const status = await alike(`update for ${foreign}`, async (host) => {
        const answer = await clinic.ask('PUT', '/Observation/b', sent, under(host))
        const { diagnostics } = answer.json.issue[0]
        assert.ok(diagnostics.includes(`public_url sets, is ${own}.`), diagnostics)
        return String(answer.status)
      })
      assert.is(status, '422')
      const inTransaction = await alike(`transaction for ${foreign}`, async (host) =>
        String((await clinic.bundle('transaction', [post(sent)], under(host))).status),
      )
      assert.is(inTransaction, '422')
    }
    await clinic.stop()
  })

  test(`what refers to a patient is the same under every Host, with ${how}`, async () => {
    const { clinic, own } = await started('fhir')
    await patients(clinic, 'p1', 'p2')
    await put(clinic, observation('foreign', 'http://other.example/Patient/p1'))
    await put(clinic, observation('foreign-secure', 'https://other.example/Patient/p1'))
    await put(clinic, observation('own', `${own}/Patient/p1`))
    await put(clinic, observation('relative', 'Patient/p1'))
    await put(clinic, observation('second', 'Patient/p2'))
    const all = '200 own,relative'
    for (const [query, expected] of [
      // Asked for several times each: pages of usual searches are kept.
      ['/Observation?subject=Patient/p1', all],
      ['/Observation?subject=Patient/p1', all],
      ['/Observation?subject=Patient/p1', all],
      ['/Observation?subject=p1&status=final', all],
      [`/Observation?subject=${own}/Patient/p1`, all],
      ['/Observation?subject=http://other.example/Patient/p1', '200 foreign'],
      ['/Observation?subject:Patient=p1,p9', all],
      ['/Observation?subject:Patient._id=p1', all],
      ['/Observation?_filter=subject eq Patient/p1', all],
      ['/Patient?_has:Observation:subject:_id=foreign', '200 '],
      ['/Patient?_has:Observation:subject:_id=own', '200 p1'],
      ['/Patient/p1/Observation', all],
      ['/Observation?_id=foreign&_include=Observation:subject', '200 foreign'],
      ['/Observation?_id=own&_include=Observation:subject', '200 own,p1'],
      ['/Patient?_id=p1&_revinclude=Observation:subject', '200 own,p1,relative'],
      ['/Patient/p1/$everything', '200 own,p1,relative'],
    ] as const) {
      const url = encodeURI(query)
      const answer = await alike(query, async (host) => found(await clinic.ask('GET', url, undefined, under(host))))
      assert.is(answer, expected, query)
    }
    await clinic.stop()
  })

  test(`a restricted caller sees the same under every Host, with ${how}`, async () => {
    const { clinic, own } = await started('fhir')
    await patients(clinic, 'p1', 'p2')
    await put(clinic, observation('foreign', 'http://other.example/Patient/p1'))
    await put(clinic, observation('own', `${own}/Patient/p1`))
    await put(clinic, observation('relative', 'Patient/p1'))
    await put(clinic, observation('second', 'Patient/p2'))
    const seen = (host: string | undefined, id: string) =>
      clinic.ask('GET', `/Observation/${id}`, undefined, under(host))
    const ofAll = async (host: string | undefined): Promise<string> => {
      const statuses: string[] = []
      for (const id of ['foreign', 'own', 'relative', 'second']) {
        const history = await clinic.ask('GET', `/Observation/${id}/_history`, undefined, under(host))
        const change = await clinic.ask('DELETE', `/Observation/${id}`, undefined, {
          headers: { ...under(host).headers, 'if-match': 'W/"99"' },
        })
        statuses.push(`${id} ${(await seen(host, id)).status} ${history.status} ${change.status}`)
      }
      return `${statuses.join(', ')}; ${found(await clinic.ask('GET', '/Observation', undefined, under(host)))}`
    }
    const shown = 'foreign 404 404 404, own 200 200 412, relative 200 200 412, second 404 404 404; 200 own,relative'
    const grant = (query: string): Restriction => ({ types: { Observation: [{ rights: 'cruds', query }] }, others: [] })
    for (const [restriction, expected] of [
      [inCompartment('Patient', 'p1'), shown],
      [grant('subject=Patient/p1'), shown],
      [
        grant('_filter=not (subject eq Patient/p1)'),
        'foreign 200 200 412, own 404 404 404, relative 404 404 404, second 200 200 412; 200 foreign,second',
      ],
    ] as const) {
      restrictions = [restriction]
      try {
        assert.is(await alike(JSON.stringify(restriction), ofAll), expected, JSON.stringify(restriction))
      } finally {
        restrictions = []
      }
    }
    await clinic.stop()
  })
}

test('in-process, without public_url, no absolute reference is of this server, and a refusal says what sets its URL', async () => {
  const conformance = { update_as_create: true, reference_policy: 'strict' }
  const clinic = await clinicWith({ conformance }, [references, gate])
  await patients(clinic, 'p1')
  const sent = observation('a', 'http://localhost:80/Patient/p1')
  const answer = await clinic.ask('PUT', '/Observation/a', sent)
  assert.is(answer.status, 422)
  assert.match(answer.json.issue[0].diagnostics, /no URL of its own while \[server\] public_url is not set/)
  await put(clinic, observation('relative', 'Patient/p1'))
  for (const query of ['subject=Patient/p1', 'subject=Patient/p1&status=final', 'subject:Patient._id=p1'])
    assert.is(found(await clinic.ask('GET', `/Observation?${query}`)), '200 relative', query)
  await clinic.stop()
})

test('links are made with the Host that was asked, where public_url is not set', async () => {
  const clinic = await clinicWith({ server: SERVER }, [])
  await clinic.server.listen()
  await patients(clinic, 'p1')
  const { json } = await clinic.ask('GET', '/Patient', undefined, under('other.example'))
  assert.is(json.entry[0].fullUrl, 'http://other.example/Patient/p1')
  await clinic.stop()
})

const PARTS = [
  ...['a', 'Z', 'x', 'n', 'xn--', '-', '_', '~', '0x1', '0', '1', '9', '08', '25', '127', '255', '256'],
  ...['1.2.3.', '0.255.', '.', '.', ':', ':80', ':59999', ':60000', ':65535', ':65536', ':080', '[::1]', '[', ']'],
]
const SYNTAX = /^(?:\[[0-9A-Fa-f:.]+\]|[\w.~-]+)(?::\d{1,5})?$/

test('what the parser of URLs takes for a host and port is a Host, and nothing else is', async () => {
  const clinic = await clinicWith({ server: SERVER }, [])
  const chance = createChance(9_112)
  const seen = new Map<boolean, number>()
  for (let n = 0; n < 4_000; n++) {
    const host = Array.from({ length: 1 + chance(9) }, () => PARTS[chance(PARTS.length)]).join('')
    const isHost = SYNTAX.test(host) && URL.canParse(`http://${host}`)
    const { statusCode } = await clinic.server.inject({ url: '/Patient/none', headers: { host } })
    assert.is(statusCode, isHost ? 404 : 400, host)
    seen.set(isHost, (seen.get(isHost) ?? 0) + 1)
  }
  assert.ok(Math.min(...[true, false].map((one) => seen.get(one) ?? 0)) > 500, [...seen].join(' '))
  await clinic.stop()
})

test.run()
