/** `server terminology load`: releases of SNOMED CT and LOINC in their formats, what becomes of them, and what is refused. */
// database: sqlite and postgres, as one in memory ends with the command
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { Database, sql } from '../../../plugins/database/service.ts'
import { createLoadWorld, expanded, loadPlugins, type ReleaseFiles } from '../../support/load-world.ts'
import { LOINC, loincRelease } from '../../support/loinc-release.ts'
import type { TestServer } from '../../support/server-with.ts'
import {
  BONE,
  DISORDER,
  FRACTURE,
  REFSET,
  RETIRED,
  ROOT,
  SNOMED,
  snomedRelease,
  WRIST,
} from '../../support/snomed-release.ts'
import { createWorld } from '../../support/world.ts'

type Json = Record<string, any>

const { folder, choice, run, folderOf, zipOf, loaded, withServer, begin, end, remove } = createLoadWorld()
const EDITION = `${SNOMED}/900000000000207008`
const VERSION = `${EDITION}/version/20260101`

const get = async (server: TestServer, url: string): Promise<Json> => {
  const { statusCode, body } = await server.inject(url)
  assert.is(statusCode, 200, `${url}: ${body}`)
  return JSON.parse(body) as Json
}
const composed = async (server: TestServer, ...filter: readonly Json[]): Promise<string> => {
  const system = filter[0]?.property === 'concept' ? SNOMED : LOINC
  const payload = {
    resourceType: 'Parameters',
    parameter: [
      { name: 'valueSet', resource: { resourceType: 'ValueSet', compose: { include: [{ system, filter }] } } },
    ],
  }
  const headers = { 'content-type': 'application/fhir+json' }
  const answer = await server.inject({ method: 'POST', url: '/ValueSet/$expand', headers, payload })
  assert.is(answer.statusCode, 200, answer.body)
  return (answer.json<Json>().expansion.contains ?? []).map(({ code }: Json) => code).join(' ')
}
const lookup = async (server: TestServer, system: string, code: string, more = ''): Promise<Json[]> =>
  (await get(server, `/CodeSystem/$lookup?system=${system}&code=${code}${more}`)).parameter
const partOf = (parameters: readonly Json[], name: string): unknown =>
  Object.entries(parameters.find((one) => one.name === name) ?? {}).find(([key]) => key.startsWith('value'))?.[1]
/** `code=value` of each property, in the order of the alphabet. */
const properties = (parameters: readonly Json[]): readonly string[] =>
  parameters
    .filter(({ name }) => name === 'property')
    .map(({ part }) => {
      const value = partOf(part, 'value') as Json
      return `${partOf(part, 'code')}=${value.code ?? value}`
    })
    .sort()
const designations = (parameters: readonly Json[]): readonly string[] =>
  parameters
    .filter(({ name }) => name === 'designation')
    .map(({ part }) => `${partOf(part, 'language')} ${(partOf(part, 'use') as Json).code} ${partOf(part, 'value')}`)
const loadedSystems = sql('test.loaded', "SELECT name, state, size FROM tx_system WHERE source = 'load' ORDER BY id")
const rowsOf = async (server: TestServer): Promise<string> =>
  (await server.get(Database).all<Json>(loadedSystems, []))
    .map(({ name, state, size }) => `${name} ${state} ${size}`)
    .join('; ')

test.before.each(begin)
test.after.each(end)
test.after(() => remove())

test('a zip of SNOMED CT is looked up, validated, subsumed and expanded as its page in R4 says', async () => {
  const stdout = await loaded(zipOf(snomedRelease()))
  assert.match(stdout, /^http:\/\/snomed\.info\/sct\|\S+\/version\/20260101: 7 concepts loaded$/m)
  assert.match(stdout, /^100 % \(7 of 7 concepts, \d+\/s\) http/m)
  await withServer(async (server) => {
    const wrist = await lookup(server, SNOMED, WRIST)
    assert.is(partOf(wrist, 'version'), VERSION)
    assert.is(partOf(wrist, 'display'), 'Broken "wrist"')
    assert.equal(properties(wrist), [
      `363698007=${BONE}`,
      'effectiveTime=20020131',
      'inactive=false',
      `memberOf=${REFSET}`,
      'moduleId=900000000000207008',
      `parent=${FRACTURE}`,
      'sufficientlyDefined=true',
    ])
    assert.equal(designations(wrist), [
      'en 900000000000013009 Broken "wrist"',
      'de 900000000000013009 Handgelenksbruch',
      'en 900000000000013009 Aa fracture of the carpus',
      'de 900000000000013009 Fraktur des Handgelenks',
      'en 900000000000003001 Fracture of wrist (disorder)',
    ])
    assert.is(partOf(await lookup(server, SNOMED, WRIST, '&displayLanguage=de'), 'display'), 'Handgelenksbruch')
    assert.equal(properties(await lookup(server, SNOMED, FRACTURE, '&property=child&property=definition')), [
      `child=${WRIST}`,
      'definition=A break of a bone.',
    ])
    assert.ok(properties(await lookup(server, SNOMED, RETIRED)).includes('inactive=true'))
    const valid = await get(server, `/CodeSystem/$validate-code?url=${SNOMED}&code=${WRIST}&display=Handgelenksbruch`)
    assert.is(partOf(valid.parameter, 'result'), true)
    const subsumes = `/CodeSystem/$subsumes?system=${SNOMED}&codeA=${DISORDER}&codeB=${WRIST}`
    assert.is(partOf((await get(server, subsumes)).parameter, 'outcome'), 'subsumes')
    assert.is(await expanded(server, `${SNOMED}?fhir_vs=isa/${FRACTURE}`), `${FRACTURE} ${WRIST}`)
    assert.is(await expanded(server, `${SNOMED}?fhir_vs=refset/${REFSET}`), `${WRIST} ${DISORDER}`)
    assert.is(
      await expanded(server, `${SNOMED}?fhir_vs=ecl/${encodeURIComponent(`<${DISORDER} AND ^${REFSET}`)}`),
      WRIST,
    )
    assert.is((await expanded(server, `${SNOMED}?fhir_vs`)).split(' ').length, 7)
    for (const named of [EDITION, VERSION])
      assert.is(await expanded(server, `${named}?fhir_vs=isa/${FRACTURE}`), `${FRACTURE} ${WRIST}`, named)
    assert.match(await expanded(server, `${EDITION}/version/20250101?fhir_vs=isa/${FRACTURE}`), /^40[04] /)
    const below = { property: 'concept', op: 'is-a', value: ROOT }
    assert.is(await composed(server, below, { property: '363698007', op: '=', value: BONE }), WRIST)
  })
})

test('a search with :below and :in uses what was loaded', async () => {
  await loaded(folderOf(snomedRelease()))
  await withServer(async (server) => {
    const headers = { 'content-type': 'application/fhir+json' }
    for (const code of [WRIST, BONE]) {
      const code_ = { coding: [{ system: SNOMED, code }] }
      const payload = { resourceType: 'Condition', id: `c${code}`, subject: { display: 'x' }, code: code_ }
      const put = await server.inject({ method: 'PUT', url: `/Condition/c${code}`, headers, payload })
      assert.is(put.statusCode, 201, put.body)
    }
    const found = async (query: string) =>
      (await get(server, `/Condition?${query}`)).entry?.map(({ resource }: Json) => resource.id)
    assert.equal(await found(`code:below=${SNOMED}|${DISORDER}`), [`c${WRIST}`])
    assert.equal(await found(`code:in=${encodeURIComponent(`${SNOMED}?fhir_vs=isa/${DISORDER}`)}`), [`c${WRIST}`])
  })
})

test('a folder of LOINC is looked up, filtered and expanded as its page in R4 says', async () => {
  const stdout = await loaded(folderOf(loincRelease()))
  assert.match(stdout, /^http:\/\/loinc\.org\|2\.80: 12 concepts loaded$/m)
  await withServer(async (server) => {
    const term = await lookup(server, LOINC, '1001-7')
    assert.is(partOf(term, 'version'), '2.80')
    assert.is(partOf(term, 'display'), 'Madeglobin [Mass/volume] in Serum or Plasma')
    assert.equal(properties(term), [
      'CLASS=LP1003-7',
      'CLASSTYPE=1',
      'COMPONENT=LP1001-1',
      'EXAMPLE_UCUM_UNITS=mg/dL',
      'ORDER_OBS=Both',
      'PROPERTY=MCnc',
      'SCALE_TYP=Qn',
      'STATUS=ACTIVE',
      'SYSTEM=Ser/Plas',
      'TIME_ASPCT=Pt',
      'VersionFirstReleased=1.0',
      'VersionLastChanged=2.80',
      'definition=Line one,\r\nline "two"',
      'parent=LP2001-0',
    ])
    assert.equal(designations(term), [
      'en SHORTNAME Madeglob SerPl-mCnc',
      'en DisplayName Madeglobin (S/P) [Mass/Vol]',
      'en CONSUMER_NAME Made one, Blood',
      'de-DE LONG_COMMON_NAME Madeglobin im Serum',
      'de-DE DisplayName Madeglobin kurz',
    ])
    assert.is(partOf(await lookup(server, LOINC, '1001-7', '&displayLanguage=de'), 'display'), 'Madeglobin im Serum')
    assert.ok(properties(await lookup(server, LOINC, '1002-5')).includes('answer-list=LL1001-8'))
    assert.is(await expanded(server, `${LOINC}/vs/LL1001-8`), 'LA1001-6 LA1002-4')
    assert.is(await expanded(server, `${LOINC}/vs/LP2001-0`), '1001-7 1002-5')
    assert.is((await expanded(server, `${LOINC}/vs`)).split(' ').length, 12)
    for (const value of ['LP1002-9', 'Bld'])
      assert.is(
        await composed(server, { property: 'SYSTEM', op: '=', value }),
        value === 'Bld' ? '1002-5 1003-3' : '1002-5',
      )
    assert.is(await composed(server, { property: 'STATUS', op: 'in', value: 'DEPRECATED' }), '1003-3')
    const old = await get(server, `/CodeSystem/$validate-code?url=${LOINC}&code=1003-3`)
    assert.is(partOf(old.parameter, 'inactive'), true)
    assert.is(partOf(old.parameter, 'result'), true)
  })
})

test('a CodeSystem of any size is loaded from its JSON, whatever the order of its members', async () => {
  const system = {
    concept: [
      { code: 'a', concept: [{ code: 'b', display: 'Bee' }] },
      {
        code: 'c',
        property: [
          { code: 'under', valueString: 'b' },
          { code: 'over', valueCode: 'd' },
        ],
      },
      { code: 'd', property: [{ code: 'status', valueCode: 'retired' }] },
    ],
    property: [
      { code: 'under', uri: 'http://hl7.org/fhir/concept-properties#parent', type: 'code' },
      { code: 'over', uri: 'http://hl7.org/fhir/concept-properties#child', type: 'code' },
    ],
    ...{ resourceType: 'CodeSystem', url: 'http://made.example', version: '3', content: 'complete', status: 'active' },
  }
  const folder = folderOf({ 'made.json': JSON.stringify(system) })
  assert.match(await loaded(join(folder, 'made.json')), /^http:\/\/made\.example\|3: 4 concepts loaded$/m)
  await withServer(async (server) => {
    assert.equal(properties(await lookup(server, 'http://made.example', 'c')), [
      'child=d',
      'over=d',
      'parent=b',
      'under=b',
    ])
    assert.ok((await lookup(server, 'http://made.example', 'c')).some(({ part }) => part?.[1]?.valueCode === 'b'))
    const subsumes = '/CodeSystem/$subsumes?system=http://made.example&codeA=a&codeB=d'
    assert.is(partOf((await get(server, subsumes)).parameter, 'outcome'), 'subsumes')
    assert.is(await expanded(server, 'http://made.example?vs'), 'a b c d')
  })
})

test('a newer release takes the place of the one before, and one that fails leaves it in use', async () => {
  await loaded(folderOf(snomedRelease({ date: '20250101' })))
  const wrong = { ...snomedRelease() }
  const path = Object.keys(wrong).find((one) => /sct2_Relationship/.test(one)) as string
  wrong[path] = `${wrong[path]}2000091\t20260101\t1\r\n`
  const refused = await run(folderOf(wrong))
  assert.is(refused.code, 2)
  assert.match(
    refused.stderr,
    /sct2_Relationship_Snapshot_INT_20260101\.txt, line 9: it has 3 values, and the heading 10\./,
  )
  await withServer(async (server) =>
    assert.is(partOf(await lookup(server, SNOMED, WRIST), 'version'), `${EDITION}/version/20250101`),
  )
  await loaded(folderOf(snomedRelease()))
  await withServer(async (server) => {
    assert.is(partOf(await lookup(server, SNOMED, WRIST), 'version'), VERSION)
    assert.is(await rowsOf(server), `${EDITION} ended 7; ${EDITION} ready 7`)
  })
})

test('several packages are one edition, of whose components the newest count', async () => {
  const files = snomedRelease()
  const extension = Object.fromEntries(
    Object.entries(snomedRelease({ date: '20260301' })).map(([path, text]) => [
      path.replaceAll('_INT_', '_XX_'),
      /sct2_Concept_Snapshot/.test(path)
        ? text.replace(`${RETIRED}\t20020131\t0`, `${RETIRED}\t20260301\t1`)
        : text.replace('Handgelenksbruch', 'Bruch des Handgelenks'),
    ]),
  )
  const relations = Object.keys(extension).find((path) => /sct2_Relationship/.test(path)) as string
  extension[relations] +=
    `2009991\t20260301\t1\t11000999104\t${RETIRED}\t${DISORDER}\t0\t116680003\t900000000000011006\t900000000000451002\r\n`
  const dependencies =
    'id\teffectiveTime\tactive\tmoduleId\trefsetId\treferencedComponentId\tsourceEffectiveTime\ttargetEffectiveTime\r\n'
  extension['x/der2_ssRefset_ModuleDependencySnapshot_XX_20260301.txt'] =
    `${dependencies}a0000000-0000-4000-8000-000000000001\t20260301\t1\t11000999104\t900000000000534007\t900000000000207008\t20260301\t20260101\r\n`
  await loaded(zipOf(files), folderOf(extension))
  await withServer(async (server) => {
    assert.is(partOf(await lookup(server, SNOMED, WRIST), 'version'), `${SNOMED}/11000999104/version/20260301`)
    assert.is(partOf(await lookup(server, SNOMED, WRIST, '&displayLanguage=de'), 'display'), 'Bruch des Handgelenks')
    assert.ok(properties(await lookup(server, SNOMED, RETIRED)).includes('inactive=false'))
  })
})

test('wrong files are refused with file and line, and --dry-run says what would be loaded', async () => {
  const snomed = snomedRelease()
  const [concepts = '', relations = ''] = [/sct2_Concept_Snapshot/, /sct2_Relationship/].map((pattern) =>
    Object.keys(snomed).find((one) => pattern.test(one)),
  )
  const changed = (path: string, from: string | RegExp, to: string): ReleaseFiles => ({
    ...snomed,
    [path]: (snomed[path] as string).replace(from, to),
  })
  const { [relations]: _relations, ...withoutRelations } = snomed
  const loinc = loincRelease()
  const terms = 'Loinc_2.80/LoincTable/Loinc.csv'
  const answers = 'Loinc_2.80/AccessoryFiles/AnswerFile/AnswerList.csv'
  const json = (text: string): ReleaseFiles => ({ 'made.json': text })
  const CASES: readonly (readonly [ReleaseFiles, RegExp])[] = [
    [
      changed(concepts, 'definitionStatusId', 'somethingElse'),
      /Concept_Snapshot\S+, line 1: the heading lacks definitionStatusId; it is "id, /,
    ],
    [
      changed(concepts, `${WRIST}\t20020131`, `${WRIST}\t2002`),
      /Concept_Snapshot\S+, line 5: effectiveTime cannot be "2002"/,
    ],
    [changed(concepts, `${WRIST}\t`, `wrist\t`), /line 5: id cannot be "wrist"/],
    [changed(concepts, `${WRIST}\t20020131\t1`, `${WRIST}\t20020131\tyes`), /line 5: active cannot be "yes"/],
    [changed(relations, `\t${BONE}\t`, '\t12\t'), /Relationship\S+, line \d: (destinationId|sourceId) cannot be "12"/],
    [withoutRelations, /there is no Relationship of the kind Snapshot; give the folder Snapshot/],
    [
      { ...loinc, [terms]: 'LOINC_NUM,STATUS\r\n1-8,ACTIVE\r\n' },
      /Loinc\.csv, line 1: the heading lacks LONG_COMMON_NAME, COMPONENT/,
    ],
    [{ ...loinc, [terms]: (loinc[terms] as string).split('\n')[0] as string }, /Loinc\.csv: there are no terms in it/],
    [
      { ...loinc, [terms]: (loinc[terms] as string).replace('1002-5', 'x') },
      /Loinc\.csv, line 4: LOINC_NUM cannot be "x"/,
    ],
    [{ ...loinc, [answers]: `${loinc[answers]}"LL9-9","a"\r\n` }, /AnswerList\.csv, line 5: invalid Record Length/],
    [{ ...loinc, [answers]: `${loinc[answers]}"LL9-9` }, /AnswerList\.csv, line 5: quote Not Closed/],
    [{ ...loinc, ...snomed }, /files of SNOMED CT and of LOINC among the files\. Load one code system at a time/],
    [{ 'a.txt': 'x' }, /no release of SNOMED CT .*, none of LOINC .*, and no CodeSystem/],
    [
      json('{"resourceType":"CodeSystem","concept":[{"code":"a"},{"code":"a"}]}'),
      /made\.json: the code "a" is there twice/,
    ],
    [json('{"resourceType":"CodeSystem","concept":[{"code":"a"},'), /made\.json: it ends in the middle/],
    [changed(concepts, `${WRIST}\t20020131`, `${WRIST}\t\u000020020131`), /line 5: it has the character U\+0000/],
    [
      { ...loinc, [terms]: (loinc[terms] as string).replace('1002-5', '1002-5\u0000') },
      /Loinc\.csv, line 4: it has the character U\+0000/,
    ],
    [
      json('{"resourceType":"CodeSystem","concept":[{"code":"a"},{"code":"b","display":"\\\\\\u0000"}]}'),
      /made\.json: the concept behind 1 others has the character U\+0000/,
    ],
    [{ [terms]: `${(loinc[terms] as string).split('\n', 1)[0]}\n` }, /: there are no terms in it/],
    [json('{"resourceType":"CodeSystem","concept":[}'), /made\.json: .*nexpected/],
    [json('{"resourceType":"ValueSet","url":"http://x.example"}'), /made\.json: it is no CodeSystem/],
    [
      json('{"resourceType":"CodeSystem","url":"http://x.example","content":"not-present"}'),
      /content is "not-present"/,
    ],
  ]
  for (const [files, message] of CASES) {
    const { code, stderr } = await run(folderOf(files), '--dry-run')
    assert.is(code, 2, String(message))
    assert.match(stderr, message)
  }
  assert.match((await run(join(folder, 'none.zip'))).stderr, /none\.zip cannot be read: ENOENT/)
  const broken = join(folder, 'broken.zip')
  writeFileSync(broken, 'PK no zip')
  assert.is((await run(broken)).code, 2)
  assert.is((await run()).code, 2)
  const dry = await run(zipOf(snomed), '--dry-run')
  assert.is(dry.code, 0, dry.stderr)
  assert.match(dry.stdout, /\|\S+20260101: 7 concepts read, nothing was stored$/m)
  await withServer(async (server) => assert.is(await rowsOf(server), ''))
})

test('a load that is interrupted leaves nothing in use and goes on where it was', async () => {
  const concepts = Array.from({ length: 2500 }, (_, n) => ({ code: `c${n}` }))
  const system = { resourceType: 'CodeSystem', url: 'http://made.example', content: 'complete', concept: concepts }
  const file = join(folderOf({ 'made.json': JSON.stringify(system) }), 'made.json')
  // It is stopped from outside by an end of its output in the middle.
  const world = createWorld({
    ...{ plugins: loadPlugins, folder, argv: ['terminology', 'load', file, ...choice()], terminal: true },
    onWrite(_test, text) {
      if (text.includes('(1000 of')) throw new Error('the terminal is gone')
    },
  })
  const stopped = await world.run()
  assert.is(stopped.code, 1, stopped.stderr)
  assert.match(stopped.stderr, /not done, run it again to go on: the terminal is gone/)
  await withServer(async (server) => {
    assert.is(await rowsOf(server), 'http://made.example building 1000')
    assert.is((await server.inject('/CodeSystem/$lookup?system=http://made.example&code=c1')).statusCode, 404)
  })
  assert.match(await loaded(file), /^going on behind 1000 concepts$/m)
  await withServer(async (server) => {
    assert.is(await rowsOf(server), 'http://made.example ready 2500')
    assert.is((await server.inject('/CodeSystem/$lookup?system=http://made.example&code=c2499')).statusCode, 200)
  })
})

test('beside a server it is refused, and --dry-run is not', async () => {
  const file = zipOf(snomedRelease())
  await withServer(async () => {
    const { code, stderr } = await run(file)
    assert.is(code, 1)
    assert.match(stderr, /stop (that server|it) first/)
    assert.is((await run(file, '--dry-run')).code, 0)
  })
})

test.run()
