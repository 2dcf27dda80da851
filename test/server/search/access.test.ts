/**
 * A ruling reaches everywhere data can leak: reads, past versions, histories, searches, counts, links, includes,
 * chains, `_has`, sort, compartments and changes. Every way to look is tried under every ruling, and each answer is
 * compared with what an independent reading of the ruling allows.
 */
// npm test: postgres, which is asked statements here that no other file asks
// database: sqlite and postgres, because in memory the same statements run as on a file
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ALL, definePlugin, type Restriction } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { inCompartment, matching, onlyTypes } from '../../support/restrictions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Resource = Record<string, any>

let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const put = async (resource: Resource) => {
  const { resourceType, id } = resource
  return server.inject({ method: 'PUT', url: `/${resourceType}/${id}`, headers, payload: JSON.stringify(resource) })
}

/** Every version that was ever stored, as it was sent. */
const versions: Resource[][] = []
const current = (): Resource[] => versions.map((list) => list.at(-1) as Resource)

const store = async (...list: Resource[]): Promise<void> => {
  versions.push(list)
  for (const one of list) {
    const answer = await put(one)
    assert.ok(answer.statusCode < 300, answer.body)
  }
}

const observation = (id: string, patient: string, category: string, code: string, status = 'final'): Resource => ({
  resourceType: 'Observation',
  id,
  status,
  category: [{ coding: [{ system: 'http://c', code: category }] }],
  code: { coding: [{ system: 'http://loinc.org', code }], text: `Text ${code}` },
  subject: { reference: `Patient/${patient}` },
  encounter: { reference: `Encounter/e-${patient}` },
  performer: [{ reference: 'Practitioner/dr' }],
  effectiveDateTime: '2024-01-02',
  valueQuantity: { value: 5, unit: 'mg', system: 'http://unitsofmeasure.org', code: 'mg' },
})

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), gate, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  await store({ resourceType: 'Practitioner', id: 'dr', name: [{ family: 'House' }] })
  await store({ resourceType: 'Organization', id: 'org', name: 'Clinic' })
  for (const [id, family] of [
    ['p1', 'Adams'],
    ['p2', 'Baker'],
    ['p3', 'Adams'],
  ] as const) {
    await store({
      resourceType: 'Patient',
      id,
      name: [{ family }],
      gender: 'male',
      birthDate: '1970-01-01',
      generalPractitioner: [{ reference: 'Practitioner/dr' }],
      managingOrganization: { reference: 'Organization/org' },
    })
    await store({
      resourceType: 'Encounter',
      id: `e-${id}`,
      status: 'finished',
      class: { code: 'AMB' },
      subject: { reference: `Patient/${id}` },
    })
    await store(observation(`lab-${id}`, id, 'laboratory', 'A'), observation(`lab-${id}`, id, 'laboratory', 'B'))
    await store(observation(`vital-${id}`, id, 'vital-signs', 'A'))
    // Versions that lay elsewhere before: past and present are judged apart.
    await store(
      observation(`moved-${id}`, id === 'p1' ? 'p2' : 'p1', 'laboratory', 'A'),
      observation(`moved-${id}`, id, 'vital-signs', 'A'),
    )
    await store({
      resourceType: 'Condition',
      id: `c-${id}`,
      subject: { reference: `Patient/${id}` },
      encounter: { reference: `Encounter/e-${id}` },
      code: { coding: [{ code: 'X' }] },
    })
  }
})
test.after(() => server.stop())

const patientOf = (one: Resource): string | undefined =>
  one.resourceType === 'Patient' ? `Patient/${one.id}` : one.subject?.reference
const categoryOf = (one: Resource): string => one.category?.[0]?.coding[0].code

interface Case {
  readonly name: string
  readonly restrictions: readonly Restriction[]
  /** Read from the meaning of the ruling, without any search. */
  readonly allows: (one: Resource) => boolean
}

const compartment = (id: string): Restriction => inCompartment('Patient', id)
const laboratory = matching('Observation', 'category=laboratory')
const inside = (id: string) => (one: Resource) => patientOf(one) === `Patient/${id}`
const isLab = (one: Resource) => one.resourceType !== 'Observation' || categoryOf(one) === 'laboratory'

const cases: readonly Case[] = [
  { name: 'compartment p1', restrictions: [compartment('p1')], allows: inside('p1') },
  { name: 'compartment p2', restrictions: [compartment('p2')], allows: inside('p2') },
  { name: 'a compartment nobody is in', restrictions: [compartment('none')], allows: () => false },
  { name: 'laboratory only', restrictions: [laboratory], allows: isLab },
  {
    name: 'observations only',
    restrictions: [onlyTypes('Observation')],
    allows: ({ resourceType }) => resourceType === 'Observation',
  },
  {
    name: 'patients and observations, laboratory only',
    restrictions: [
      {
        types: { Patient: [ALL], Observation: [{ rights: 'cruds', query: 'category=laboratory' }] },
        others: [],
      },
    ],
    allows: (one) => ['Patient', 'Observation'].includes(one.resourceType) && isLab(one),
  },
  {
    name: 'compartment p1 AND laboratory, from two plugins',
    restrictions: [compartment('p1'), laboratory],
    allows: (one) => inside('p1')(one) && isLab(one),
  },
  {
    name: 'two compartments at once',
    restrictions: [compartment('p1'), compartment('p2')],
    allows: () => false,
  },
  {
    name: 'two conditions on one type',
    restrictions: [matching('Observation', 'category=laboratory&code=http://loinc.org|B')],
    allows: (one) => isLab(one) && (one.resourceType !== 'Observation' || one.code.coding[0].code === 'B'),
  },
  {
    name: 'patients named Adams',
    restrictions: [matching('Patient', 'family=Adams')],
    allows: (one) => one.resourceType !== 'Patient' || one.name[0].family === 'Adams',
  },
  {
    name: 'not vital signs',
    restrictions: [matching('Observation', 'category:not=vital-signs&date=2024')],
    allows: (one) => one.resourceType !== 'Observation' || categoryOf(one) !== 'vital-signs',
  },
]

const SEARCHES = [
  '/Patient',
  '/Observation',
  '/Encounter',
  '/Condition',
  '/Practitioner',
  '/Organization',
  '/Patient?name=a',
  '/Patient?name:contains=a',
  '/Patient?name:exact=Baker',
  '/Patient?gender=male',
  '/Patient?gender:not=female',
  '/Patient?birthdate=1970',
  '/Patient?birthdate=gt1960',
  '/Patient?general-practitioner=Practitioner/dr',
  '/Patient?organization=org',
  '/Patient?deceased:missing=true',
  '/Patient?_id=p1,p2,p3',
  '/Patient?_lastUpdated=gt2000',
  '/Patient?_sort=name',
  '/Patient?_sort=-_lastUpdated',
  '/Patient?_sort=-birthdate,name',
  '/Patient?_summary=true',
  '/Patient?_elements=name',
  '/Observation?code=A',
  '/Observation?code=http://loinc.org|A',
  '/Observation?code=http://loinc.org|',
  '/Observation?code:text=text',
  '/Observation?code=A,B',
  '/Observation?code:not=Z',
  '/Observation?category=laboratory',
  '/Observation?category=vital-signs',
  '/Observation?status=final',
  '/Observation?patient=p1',
  '/Observation?patient=p2',
  '/Observation?subject=Patient/p1,Patient/p2,Patient/p3',
  '/Observation?subject:Patient=p2',
  '/Observation?encounter=e-p2',
  '/Observation?performer=Practitioner/dr',
  '/Observation?date=2024-01-02',
  '/Observation?date=ge2024',
  '/Observation?date=ne2020',
  '/Observation?value-quantity=5',
  '/Observation?value-quantity=gt4|http://unitsofmeasure.org|mg',
  '/Observation?code-value-quantity=A$5',
  '/Observation?combo-code=A',
  '/Observation?_sort=-date',
  '/Observation?_sort=value-quantity',
  '/Observation?_sort=code',
  '/Observation?_sort=-subject,status',
  '/Observation?_id=lab-p1,lab-p2',
  '/Condition?code=X',
  '/Condition?subject=Patient/p2',
  '/Encounter?class=AMB',
  '/Encounter?_sort=-_id',
  '/Observation?_content=text',
  '/Observation?_content=NOT unheard',
  '/Patient?_content=adams OR baker',
  '/Observation?_filter=code eq A or code eq B',
  '/Observation?_filter=not(code eq B)',
  '/Observation?_filter=category ne laboratory and value-quantity gt 4',
  '/Patient?_filter=family sw a or _id eq p2',
  '/Patient?gender=http://hl7.org/fhir/administrative-gender|male',
  '/?_type=Patient,Observation',
  '/?_lastUpdated=gt2000',
  '/?_id=p2,lab-p2',
  '/Patient/p1/Observation',
  '/Patient/p2/Observation',
  '/Patient/p2/*',
  '/Patient/p1/Condition?code=X',
  '/Encounter/e-p2/Observation',
  '/Practitioner/dr/Patient',
]

/** Answers depend on what lies behind a link as well: they may hold less, never more. */
const LINKED = [
  '/Observation?subject:Patient.name=adams',
  '/Observation?patient.name=baker',
  '/Observation?subject:Patient.gender=male',
  '/Observation?encounter.class=AMB',
  '/Observation?encounter.subject:Patient.family=baker',
  '/Condition?encounter:Encounter.patient.gender=male',
  '/Observation?_filter=subject.name sw baker',
  '/Observation?_filter=not(subject.name sw baker)',
  '/Observation?_filter=encounter[class eq AMB].subject.family sw adams',
  '/Observation?subject:Patient._filter=family eq baker',
  '/Observation?subject:Patient._content=baker',
  '/Patient?_has:Observation:patient:_content=text',
  '/Observation?_contained=both&code=A',
  '/Patient?general-practitioner:Practitioner.name=house',
  '/Patient?organization.name=clinic',
  '/Patient?_has:Observation:patient:code=A',
  '/Patient?_has:Observation:patient:category=vital-signs',
  '/Patient?_has:Condition:subject:code=X',
  '/Practitioner?_has:Patient:general-practitioner:name=baker',
  '/Practitioner?_has:Observation:performer:code=A',
  '/Encounter?_has:Observation:encounter:code=A',
  '/Patient?_has:Encounter:patient:_has:Observation:encounter:code=A',
  '/Observation?_include=Observation:subject',
  '/Observation?_include=Observation:*',
  '/Observation?_include=*',
  '/Observation?_include=Observation:encounter&_include:iterate=Encounter:subject',
  '/Observation?code=B&_include=Observation:subject:Patient',
  '/Patient?_revinclude=Observation:subject',
  '/Patient?_revinclude=*',
  '/Patient?_revinclude=Observation:patient&_revinclude=Condition:subject',
  '/Patient?_id=p2&_revinclude:iterate=Encounter:subject&_revinclude:iterate=Observation:encounter',
  '/Practitioner?_revinclude=Patient:general-practitioner&_revinclude:iterate=Observation:subject',
  '/Condition?_include=Condition:subject&_revinclude=Observation:encounter',
]

/** Sizes of pages: with few on each, a search takes some pages under most rulings. */
const FEW = 2
const MORE = 6

const keyOf = ({ resourceType, id }: Resource): string => `${resourceType}/${id}`

/** All pages of a search, of `count` each. */
const searchAll = async (
  url: string,
  count = FEW,
): Promise<{ status: number; matches: string[]; others: string[]; total: number | undefined }> => {
  const matches: string[] = []
  const others: string[] = []
  let next: string | undefined = `${url}${url.includes('?') ? '&' : '?'}_count=${count}&_total=accurate`
  let total: number | undefined
  for (let pages = 0; next !== undefined && pages < 50; pages += 1) {
    const answer = await server.inject(next)
    if (answer.statusCode !== 200) return { status: answer.statusCode, matches, others, total }
    const bundle = answer.json()
    total = bundle.total
    for (const entry of bundle.entry ?? [])
      if (entry.search.mode === 'match') matches.push(keyOf(entry.resource))
      else if (entry.search.mode === 'include') others.push(keyOf(entry.resource))
    const link = bundle.link.find((one: any) => one.relation === 'next')?.url
    next = link === undefined ? undefined : link.slice(link.indexOf('/', 8))
  }
  // An included resource is on each page that refers to it.
  return { status: 200, matches, others: [...new Set(others)].sort(), total }
}

type Found = Awaited<ReturnType<typeof searchAll>>
/** What each search finds without a ruling: asked once, because no ruling lets anything be changed. */
const open = new Map<string, Found>()
const searchOpen = async (count: number): Promise<Map<string, Found>> => {
  const found = new Map<string, Found>()
  for (const url of [...SEARCHES, ...LINKED]) found.set(url, await searchAll(url, count))
  return found
}
test('without a ruling each search is answered', async () => {
  for (const [url, found] of await searchOpen(FEW)) {
    assert.is(found.status, 200, url)
    open.set(url, found)
  }
})

let cells = 0
for (const [at, { name, restrictions: imposed, allows }] of cases.entries()) {
  // The ruling does not decide where a page ends, so every third search is asked page by page.
  const count = at % 3 === 0 ? FEW : MORE
  // On PostgreSQL half of the searches under each ruling, the other half under the next.
  const isAsked = (_url: string, nth: number): boolean => chosenKind.name !== 'postgres' || nth % 2 === at % 2
  test(`under "${name}" nothing else is shown, counted, linked or changed`, async () => {
    const allowedNow = new Set(current().filter(allows).map(keyOf))
    restrictions = imposed
    try {
      // Each version by itself.
      for (const list of versions) {
        const last = list.at(-1) as Resource
        const url = `/${keyOf(last)}`
        const read = await server.inject(url)
        assert.is(read.statusCode === 200, allows(last), `${url} ${read.statusCode}`)
        if (read.statusCode !== 200) assert.not.match(read.body, 'Adams')
        cells += 1
        for (const [at, version] of list.entries()) {
          const vread = await server.inject(`${url}/_history/${at + 1}`)
          assert.is(vread.statusCode === 200, allows(version), `${url}/_history/${at + 1} ${vread.statusCode}`)
          cells += 1
        }
        const history = await server.inject(`${url}/_history`)
        const expected = list.flatMap((version, at) => (allows(version) ? [String(at + 1)] : [])).reverse()
        const shown =
          history.statusCode === 200
            ? (history.json().entry ?? []).map((entry: any) => entry.resource.meta.versionId)
            : []
        assert.equal(shown, expected, `${url}/_history`)
        if (history.statusCode === 200 && expected.length < list.length) assert.is(history.json().total, undefined)
        cells += 1
      }
      for (const url of ['/_history', '/Observation/_history', '/Patient/_history', '/Condition/_history']) {
        const found: string[] = []
        let next: string | undefined = `${url}?_count=3`
        while (next !== undefined) {
          const answer = await server.inject(next)
          if (answer.statusCode === 403) break
          assert.is(answer.statusCode, 200, answer.body)
          const bundle = answer.json()
          for (const entry of bundle.entry ?? []) {
            found.push(`${keyOf(entry.resource)}/${entry.resource.meta.versionId}`)
            assert.ok(allows(entry.resource), `${url} shows ${keyOf(entry.resource)}`)
          }
          const link = bundle.link.find((one: any) => one.relation === 'next')?.url
          next = link === undefined ? undefined : link.slice(link.indexOf('/', 8))
        }
        const type = url.split('/').at(-2)
        const expected = versions.flatMap((list) =>
          list.flatMap((version, at) =>
            allows(version) && (type === '' || version.resourceType === type) ? [`${keyOf(version)}/${at + 1}`] : [],
          ),
        )
        assert.equal(found.sort(), expected.sort(), url)
        cells += 1
      }
      for (const url of SEARCHES.filter(isAsked)) {
        const before = open.get(url) as Found
        const answer = await searchAll(url, count)
        const expected = before.matches.filter((key) => allowedNow.has(key))
        if (answer.status === 403) assert.equal(expected, [], url)
        else {
          assert.equal(answer.matches, expected, url)
          assert.is(answer.total, expected.length, `${url} counts`)
        }
        cells += 2
      }
      for (const url of LINKED.filter(isAsked)) {
        const answer = await searchAll(url, count)
        for (const key of [...answer.matches, ...answer.others]) assert.ok(allowedNow.has(key), `${url} shows ${key}`)
        if (answer.status === 200) assert.is(answer.total, answer.matches.length, `${url} counts`)
        cells += 2
      }
      // A chain must not tell what its end holds: nothing behind a closed link is found.
      const secret = await searchAll('/Observation?subject:Patient.name=baker')
      const seesBaker = current().some((one) => one.resourceType === 'Patient' && one.id === 'p2' && allows(one))
      if (!seesBaker) assert.equal(secret.matches, [])
      const tells = await searchAll('/Patient?_has:Observation:patient:category=vital-signs')
      for (const key of tells.matches)
        assert.ok(
          current().some((one) => categoryOf(one) === 'vital-signs' && one.subject.reference === key && allows(one)),
          `_has tells of a hidden observation of ${key}`,
        )
      cells += 2
      // Changes: neither of what is hidden, nor into what is out of reach.
      for (const one of current()) {
        if (allows(one)) continue
        const removed = await server.inject({ method: 'DELETE', url: `/${keyOf(one)}` })
        assert.ok(
          removed.statusCode === 403 || removed.statusCode === 404,
          `DELETE ${keyOf(one)} ${removed.statusCode}`,
        )
        const updated = await put(one)
        assert.ok(updated.statusCode === 403 || updated.statusCode === 404, `PUT ${keyOf(one)} ${updated.statusCode}`)
        const created = await server.inject({
          method: 'POST',
          url: `/${one.resourceType}`,
          headers,
          payload: JSON.stringify(one),
        })
        // A new patient gets an id of the server's, so that only its compartment tells.
        assert.is(created.statusCode, 403, `POST ${keyOf(one)} ${created.statusCode}`)
        cells += 3
      }
    } finally {
      restrictions = []
    }
  })
}

test('without a ruling each search finds afterwards what it found before', async () => {
  assert.equal(await searchOpen(MORE), open)
})

test('the matrix has more than two thousand cells', () => {
  assert.ok(cells >= 2_000, `${cells} cells`)
})

test.run()
