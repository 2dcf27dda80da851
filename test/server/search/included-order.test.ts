/** Included resources come newest first, and above the limit it is the newest that come: hidden data changes neither. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import { type Clinic, clinicWith, type Json, put } from '../writes/clinic.ts'

let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})
const finalOnly: Restriction = {
  types: { Observation: [{ rights: 'rs', query: 'status=final' }] },
  others: [{ rights: 'rs' }],
}

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [gate])
})
test.after.each(() => {
  restrictions = []
})
test.after(() => clinic.stop())

const observation = (id: string, patient: string, more: Json = {}): Json => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'x' },
  subject: { reference: `Patient/${patient}` },
  ...more,
})
const storeAll = async (resources: readonly Json[]): Promise<void> => {
  for (let at = 0; at < resources.length; at += 200) {
    const { status, text } = await clinic.bundle(
      'batch',
      resources.slice(at, at + 200).map((one) => put(one)),
    )
    assert.is(status, 200, text)
  }
}
const included = async (url: string): Promise<readonly string[]> => {
  const { status, json, text } = await clinic.ask('GET', url)
  assert.is(status, 200, text)
  return json.entry.filter(({ search }: Json) => search.mode === 'include').map(({ resource }: Json) => resource.id)
}
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at)
/** As a search gives them: newest first. */
const found = async (url: string): Promise<readonly string[]> =>
  (await clinic.ask('GET', url)).json.entry.map(({ resource }: Json) => resource.id)

test('_include, _revinclude and :iterate give the newest first, with and without hidden resources', async () => {
  await storeAll(numbers(30).map((at) => ({ resourceType: 'Patient', id: `p${(at * 7) % 30}` })))
  await storeAll(numbers(30).map((at) => observation(`o${(at * 11) % 30}`, `p${(at * 13) % 30}`)))
  const members = numbers(30).map((at) => ({ reference: `Observation/o${at}` }))
  await storeAll([observation('panel', 'p0', { hasMember: members })])
  const patients = await found('/Patient?_count=1000')
  const shown = (await found('/Observation?_count=1000')).filter((id) => id !== 'panel')
  const check = async (): Promise<void> => {
    assert.equal(await included('/Observation?_id=panel&_include=Observation:has-member'), shown)
    assert.equal(await included('/Observation?_include=Observation:subject&status=final&_count=100'), patients)
    assert.equal(await included('/Patient?_revinclude=Observation:subject&_count=100'), ['panel', ...shown])
    assert.equal(
      await included('/Observation?_id=panel&_include=Observation:has-member&_include:iterate=Observation:subject'),
      // Round by round: what the match refers to, then what that refers to.
      [...shown, 'p0', ...patients.filter((id) => id !== 'p0')],
    )
  }
  await check()
  restrictions = [finalOnly]
  await check()
  restrictions = []
  await storeAll(
    numbers(300).map((at) =>
      observation(`h${at}`, `p${(at * 17) % 30}`, { status: 'preliminary', hasMember: members }),
    ),
  )
  restrictions = [finalOnly]
  await check()
})

test('more than may be included: the newest of them', async () => {
  await storeAll([{ resourceType: 'Patient', id: 'busy' }])
  await storeAll(numbers(2_300).map((at) => observation(`n${at}`, 'busy')))
  const newest = await found('/Observation?subject=Patient/busy&_count=1000')
  assert.is(newest.length, 1_000)
  assert.equal(await included('/Patient?_id=busy&_revinclude=Observation:subject'), newest)
  await storeAll(numbers(300).map((at) => observation(`g${at}`, 'busy', { status: 'preliminary' })))
  restrictions = [finalOnly]
  assert.equal(await included('/Patient?_id=busy&_revinclude=Observation:subject'), newest)
})

test.run()
