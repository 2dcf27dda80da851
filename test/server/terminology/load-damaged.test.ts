/** `server terminology load` with releases that are damaged. */
// database: sqlite and postgres, as one in memory ends with the command
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createLoadWorld, type ReleaseFiles } from '../../support/load-world.ts'
import { loincRelease } from '../../support/loinc-release.ts'
import { snomedRelease } from '../../support/snomed-release.ts'

const { run, folderOf, loaded, withServer, begin, end, remove } = createLoadWorld()

const loinc = loincRelease()
const snomed = snomedRelease()
const pathIn = (release: ReleaseFiles, pattern: RegExp): string =>
  Object.keys(release).find((path) => pattern.test(path)) as string
const TERMS = pathIn(loinc, /LoincTable\/Loinc\.csv$/)
const PARTS = pathIn(loinc, /\/Part\.csv$/)
const DESCRIPTIONS = pathIn(snomed, /sct2_Description/)

const textOf = (release: ReleaseFiles, path: string): string => String(release[path])
const changed = (release: ReleaseFiles, path: string, change: (text: string) => string | Buffer): ReleaseFiles => ({
  ...release,
  [path]: change(textOf(release, path)),
})
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

test.run()
