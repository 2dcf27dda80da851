/** `server terminology load` with releases that are damaged or not whole, and value sets of lists and concepts that are not there. */
// database: sqlite, because files are read and refused before they are stored; terminology/load.test.ts stores on each kind
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createLoadWorld, expanded, type ReleaseFiles } from '../../support/load-world.ts'
import { LOINC, loincRelease } from '../../support/loinc-release.ts'
import { FRACTURE, REFSET, ROOT, SNOMED, snomedRelease, WRIST } from '../../support/snomed-release.ts'

const { run, folderOf, loaded, withServer, begin, end, remove } = createLoadWorld()

const loinc = loincRelease()
const snomed = snomedRelease()
const pathIn = (release: ReleaseFiles, pattern: RegExp): string =>
  Object.keys(release).find((path) => pattern.test(path)) as string
const TERMS = pathIn(loinc, /LoincTable\/Loinc\.csv$/)
const PARTS = pathIn(loinc, /\/Part\.csv$/)
const PART_LINKS = pathIn(loinc, /LoincPartLink_Primary/)
const ANSWER_LINKS = pathIn(loinc, /LoincAnswerListLink/)
const HIERARCHY = pathIn(loinc, /ComponentHierarchyBySystem\.csv$/)
const CONCEPTS = pathIn(snomed, /sct2_Concept_Snapshot/)
const DESCRIPTIONS = pathIn(snomed, /sct2_Description/)
const RELATIONS = pathIn(snomed, /sct2_Relationship/)

const textOf = (release: ReleaseFiles, path: string): string => String(release[path])
const changed = (release: ReleaseFiles, path: string, change: (text: string) => string | Buffer): ReleaseFiles => ({
  ...release,
  [path]: change(textOf(release, path)),
})
const replaced = (release: ReleaseFiles, path: string, from: string, to: string): ReleaseFiles => {
  assert.ok(textOf(release, path).includes(from), `${path} lacks ${from}`)
  return changed(release, path, (text) => text.replace(from, () => to))
}
/** With bytes for a text. */
const withBytes = (text: string, from: string, bytes: readonly number[]): Buffer => {
  const at = Buffer.from(text.slice(0, text.indexOf(from)))
  return Buffer.concat([at, Buffer.from(bytes), Buffer.from(text.slice(text.indexOf(from) + from.length))])
}
const LATIN_1 = [0x4d, 0xe4, 0x64]
const SURROGATE = [0xed, 0xa0, 0x80]
const jsonOf = (display: string): string =>
  `{"resourceType":"CodeSystem","url":"http://x.example","content":"complete",\n"concept":[{"code":"a"},\n{"code":"b","display":"${display}"}]}`

const refused = async (files: ReleaseFiles, message: RegExp): Promise<void> => {
  const { code, stderr, stdout } = await run(folderOf(files), '--dry-run')
  assert.is(code, 2, `${message} ${stdout}`)
  assert.match(stderr, message)
}

test.before.each(begin)
test.after.each(end)
test.after(() => remove())

test('a file that is not UTF-8 is refused with file and line', async () => {
  for (const [files, message] of [
    [
      changed(loinc, TERMS, (text) => withBytes(text, 'Madeglobin type', LATIN_1)),
      /Loinc\.csv, line 4: it is not UTF-8/,
    ],
    [changed(loinc, PARTS, (text) => withBytes(text, 'Blood', SURROGATE)), /Part\.csv, line 3: it is not UTF-8/],
    [changed(loinc, PARTS, (text) => Buffer.concat([Buffer.from(text), Buffer.of(0xc3)])), /Part\.csv, line 5: it is/],
    [changed(loinc, TERMS, (text) => Buffer.from(text, 'utf16le')), /Loinc\.csv, line 1: it is not UTF-8/],
    [
      changed(snomed, DESCRIPTIONS, (text) => withBytes(text, 'Handgelenksbruch', LATIN_1)),
      /sct2_Description\S+, line 3: it is not UTF-8/,
    ],
    [
      changed(snomed, DESCRIPTIONS, (text) => withBytes(text, 'Handgelenksbruch', SURROGATE)),
      /sct2_Description\S+, line 3: it is not UTF-8/,
    ],
    [{ 'made.json': withBytes(jsonOf('Bee'), 'Bee', LATIN_1) }, /made\.json, line 3: it is not UTF-8/],
    [{ 'made.json': jsonOf('\\ud83d') }, /made\.json: the concept behind 1 others has the character U\+0000, or half/],
  ] as const)
    await refused(files, message)
  // Characters of three bytes over several parts of 256 KiB, so that the parts end at each place of one.
  const definition = '€'.repeat(1000)
  const concept = Array.from({ length: 300 }, (_, n) => ({ code: `c${n}`, definition }))
  const system = { resourceType: 'CodeSystem', url: 'http://x.example', content: 'complete', concept }
  const text = Buffer.from(`${JSON.stringify(system)}\n`)
  await loaded(join(folderOf({ 'made.json': text }), 'made.json'))
  await withServer(async (server) => {
    for (const { code } of concept) {
      const { body } = await server.inject(
        `/CodeSystem/$lookup?system=http://x.example&code=${code}&property=definition`,
      )
      assert.ok(body.includes(`"${definition}"`), code)
    }
  })
  await refused({ 'made.json': Buffer.concat([text, Buffer.of(0x80)]) }, /made\.json, line 2: it is not UTF-8/)
})

test('a term with two contents, one without a name and a column that is there twice are refused', async () => {
  const [, , , second = ''] = textOf(loinc, TERMS).split('\r\n')
  assert.match(second, /1002-5/)
  await refused(
    changed(loinc, TERMS, (text) => `${text}${second.replace('Madeglobin type', 'Another type')}\r\n`),
    /Loinc\.csv, line 6: 1002-5 is there twice, with different contents/,
  )
  await refused(
    changed(loinc, PARTS, (text) => `${text}"LP1002-9","SYSTEM","Bld","Other blood","ACTIVE"\r\n`),
    /Part\.csv, line 5: LP1002-9 is there twice, with different contents/,
  )
  await refused(
    replaced(loinc, TERMS, 'Madeglobin type in Blood', ''),
    /Loinc\.csv, line 4: LONG_COMMON_NAME and SHORTNAME are empty/,
  )
  for (const lineBreak of ['\n', '\r\n'])
    await refused(
      changed(loinc, TERMS, (text) =>
        text.replace('"ACTIVE","1002-5"', '\r\n"ACTIVE","x"').replaceAll('\r\n', lineBreak),
      ),
      /Loinc\.csv, line 5: LOINC_NUM cannot be "x"/,
    )
  await refused(replaced(loinc, TERMS, '"SHORTNAME"', '"LONG_COMMON_NAME"'), /Loinc\.csv, line 1: the heading has LONG/)
  await refused(
    replaced(snomed, CONCEPTS, 'moduleId', 'active'),
    /Concept_Snap\S+, line 1: the heading has active twice/,
  )
  await refused(
    changed(snomed, CONCEPTS, (text) => `${text}${WRIST}\t20020131\t0\t900000000000207008\t900000000000074008\r\n`),
    /Concept_Snapshot\S+, line 9: the id 263102004 is there twice, with different contents/,
  )
  await refused(
    changed(snomed, DESCRIPTIONS, (text) => `${text}${text.split('\r\n')[2]?.replace('Handgelenksbruch', 'x')}\r\n`),
    /Description\S+, line 20: the id \d+ is there twice, with different contents/,
  )
  // A line that only repeats another one is no contradiction, and so is the table of the panels.
  const short = replaced(loinc, TERMS, 'Madeglobin [Mass/volume] in Serum or Plasma', '')
  const panels = pathIn(loinc, /LoincTable\//).replace('LoincTable', 'AccessoryFiles/PanelsAndForms')
  await loaded(
    folderOf({
      ...changed(short, TERMS, (text) => `${text}${second}\r\n`),
      [panels]: textOf(loinc, TERMS).replace('Oldglobin in Blood', 'As in a panel'),
    }),
  )
  await withServer(async (server) => {
    const { body } = await server.inject(`/CodeSystem/$lookup?system=${LOINC}&code=1001-7`)
    assert.match(body, /"name":"display","valueString":"Madeglob SerPl-mCnc"/)
    const old = await server.inject(`/CodeSystem/$lookup?system=${LOINC}&code=1003-3`)
    assert.match(old.body, /"name":"display","valueString":"Oldglobin in Blood"/)
  })
})

test('a release whose table was cut off does not replace the one before', async () => {
  await loaded(folderOf(loinc))
  const cut = (text: string): string => `${text.split('\r\n').slice(0, 3).join('\r\n')}\r\n`
  const { code, stderr } = await run(folderOf(changed(loinc, TERMS, cut)))
  assert.is(code, 2)
  assert.match(
    stderr,
    /LoincPartLink_Primary\.csv, line 3: the release is not whole: 1002-5 is no term of its table, and the table lacks 1 of 2 terms that other files name/,
  )
  for (const [left, message] of [
    [[TERMS, ANSWER_LINKS], /LoincAnswerListLink\.csv, line 2: the release is not whole: 1002-5 /],
    [[TERMS, HIERARCHY], /ComponentHierarchyBySystem\.csv, line 5: the release is not whole: 1002-5 /],
  ] as const)
    await refused(
      Object.fromEntries(left.map((path) => [path, path === TERMS ? cut(textOf(loinc, path)) : textOf(loinc, path)])),
      message,
    )
  await withServer(async (server) => assert.is((await expanded(server, `${LOINC}/vs`)).split(' ').length, 12))
})

test('a release of SNOMED CT with a table that was cut off is refused', async () => {
  const cut = (path: string, lines: number): ReleaseFiles =>
    changed(snomed, path, (text) => `${text.split('\r\n').slice(0, lines).join('\r\n')}\r\n`)
  for (const [files, message] of [
    [
      cut(CONCEPTS, 2),
      /Concept_Snapshot\S+: the release is not whole: 6 concepts of 7, such as 125605004, are named by descriptions and relationships, and in none of the files; give all packages/,
    ],
    [cut(DESCRIPTIONS, 7), /: the release is not whole: 4 concepts of 6, such as 125605004, have no description; give/],
    [cut(RELATIONS, 7), /: the release is not whole: 1 concept of 5, such as 723264001, has no parent; give/],
  ] as const)
    await refused(files, message)
})

test('a few terms that only other files name are left out with a note', async () => {
  const codes = Array.from({ length: 198 }, (_, n) => `${20_000 + n}-0`)
  const term = (code: string): string => `ACTIVE,${code},Made,MCnc,Pt,Bld,Qn,,CHEM,2.80,,1,,,,Made ${code},,1.0,\r\n`
  const below = (code: string): string => `LP2000-2.LP2001-0,3,LP2001-0,${code},Made\r\n`
  const release = (...absent: readonly string[]): ReleaseFiles => ({
    ...loinc,
    [TERMS]: textOf(loinc, TERMS) + codes.map(term).join(''),
    [HIERARCHY]: textOf(loinc, HIERARCHY) + [...codes, ...absent].map(below).join(''),
    [PART_LINKS]: `${textOf(loinc, PART_LINKS)}${absent[0]},-,LP1002-9,Bld,${LOINC},SYSTEM,Primary,${LOINC}/property/SYSTEM\r\n`,
    [ANSWER_LINKS]: `${textOf(loinc, ANSWER_LINKS)}${absent[0]},-,LL1001-8,Made answers,NORMATIVE,\r\n`,
  })
  await refused(
    release('9001-0', '9002-0', '9003-0'),
    /Primary\.csv, line 5: the release is not whole: 9001-0 .* lacks 3 of 203 terms/,
  )
  const stdout = await loaded(folderOf(release('9001-0', '9002-0')))
  assert.match(
    stdout,
    /^2 terms that other files name, such as 9001-0, and the table of terms does not have, left out$/m,
  )
  await withServer(async (server) => {
    const all = (await expanded(server, `${LOINC}/vs`)).split(' ')
    assert.is(all.length, 12 + codes.length)
    assert.not.ok(all.some((code) => code.startsWith('900')))
    const { body } = await server.inject(`/CodeSystem/$lookup?system=${LOINC}&code=LL1001-8`)
    assert.ok(body.includes('1002-5') && !body.includes('9001-0'), body)
  })
})

test('value sets of answer lists, parts, concepts and reference sets that are not there are 400', async () => {
  await loaded(folderOf(loinc))
  await loaded(folderOf(snomed))
  await withServer(async (server) => {
    for (const [url, answer] of [
      [`${LOINC}/vs/LL0-0`, /^400 .*LL0-0 is not in http:\/\/loinc\.org/],
      [`${LOINC}/vs/LL1002-6`, /^400 .*no answers of LL1002-6 are here/],
      [`${LOINC}/vs/LP0-0`, /^400 .*LP0-0 is not in http:\/\/loinc\.org/],
      [`${LOINC}/vs/LL1001-8`, /^LA1001-6 LA1002-4$/],
      [`${LOINC}/vs/LP1001-1`, /^$/],
      [`${SNOMED}?fhir_vs=isa/99999008`, /^400 .*99999008 is not in/],
      [`${SNOMED}?fhir_vs=refset/99999008`, /^400 .*no members of 99999008 are here/],
      [`${SNOMED}?fhir_vs=refset/${ROOT}`, /^400 .*no members of 138875005 are here/],
      [`${SNOMED}?fhir_vs=isa/${WRIST}`, /^263102004$/],
      ...['99999008', '<<99999008', '<!99999008', '>!99999008', `<<${FRACTURE}%20MINUS%2099999008`].map(
        (text) => [`${SNOMED}?fhir_vs=ecl/${text}`, /^400 .*99999008 is not in/] as const,
      ),
      [`${SNOMED}?fhir_vs=ecl/<<${FRACTURE}%20AND%20^99999008`, /^400 .*no members of 99999008 are here/],
      [`${SNOMED}?fhir_vs=ecl/<!${WRIST}`, /^$/],
      [`${SNOMED}?fhir_vs=ecl/^${REFSET}%20MINUS%20${WRIST}`, /^64572001$/],
    ] as const) {
      const got = await expanded(server, url)
      assert.match(got, answer, `${url}: ${got}`)
    }
    const check = `/ValueSet/$validate-code?url=${LOINC}/vs/LL0-0&system=${LOINC}&code=LA1001-6`
    assert.is((await server.inject(check)).statusCode, 400)
    assert.is((await server.inject(`/Observation?code:in=${LOINC}/vs/LL0-0`)).statusCode, 400)
  })
})

test.run()
