/** The grammar of FHIRPath and its printer, and what of it search parameters and patches may use. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readPathExpression } from '../../../plugins/model/fhirpath/extraction/path-expression.ts'
import { NotSupported, parse, print } from '../../../plugins/model/fhirpath/parse.ts'
import { parsePatchPath } from '../../../plugins/model/fhirpath/patch-path/patch-path.ts'
import { r4Files, r4Json } from '../validation/r4.ts'
import { expressionTexts } from './drawn-texts.ts'

const printed = (text: string): string => print(readPathExpression(text))

test('what is printed is read as the same tree, for every expression of R4 and drawn ones', () => {
  const texts = new Set<string>(expressionTexts())
  for (const file of r4Files()) {
    if (!/^(?:SearchParameter|StructureDefinition)-/.test(file)) continue
    const { expression, snapshot } = r4Json(file)
    const constraints = (snapshot?.element ?? []).flatMap((one: any) => one.constraint ?? [])
    for (const one of [expression, ...constraints.map((constraint: any) => constraint.expression)])
      if (typeof one === 'string') texts.add(one)
  }
  let read = 0
  for (const text of texts) {
    let tree: ReturnType<typeof parse>
    try {
      tree = parse(text)
    } catch (error) {
      assert.instance(error, NotSupported)
      continue
    }
    assert.equal(parse(print(tree)), tree, text)
    read += 1
  }
  assert.ok(read > 5_000, `${read} of ${texts.size} were read`)
})

test('a search expression has one spelling', () => {
  for (const [text, expected] of [
    ['$this.name', 'name'],
    ['Patient.deceased as dateTime', 'Patient.deceased.ofType(dateTime)'],
    ['(Patient.deceased as FHIR.dateTime)', 'Patient.deceased.ofType(dateTime)'],
    ['Patient.deceased.as(System.DateTime)', 'Patient.deceased.ofType(DateTime)'],
    ['Patient.link.other.where(resolve() is Patient)', 'Patient.link.other.where((resolve() is Patient))'],
    ['is(Patient)', '($this is Patient)'],
    ['%context.name[00]', '%resource.name[0]'],
    ["a = 'it\\'s' and b != false or c | d", "(((a = 'it\\'s') and (b != false)) or (c | d))"],
    ['Patient.`name`.`odd name`', 'Patient.name.`odd name`'],
  ] as const)
    assert.is(printed(text), expected)
})

test('what search cannot turn into paths is refused as it stands', () => {
  for (const text of [
    ...['', 'a.', 'a b', 'a < b', 'a + b', '+a', '-a', '{}', 'a in b', 'a implies b', 'a xor b', 'a & b', 'a ~ b'],
    ...['a // comment', 'a /* comment */', '%foo', '%`resource`', "%'resource'", '$index', '@2020-01-01', '5 days'],
    ...['a[b]', "a['1']", 'a[-1]', 'ofType()', 'a.ofType(b, c)', "a.ofType('b')", 'a as b.c', 'a.where(b in c)'],
    ...['a.where(b c)', 'a.where(b,)', "'open", 'a.`open', '``', '(a', 'a)'],
  ])
    assert.throws(
      () => readPathExpression(text),
      (error: unknown) => error instanceof SyntaxError,
      text,
    )
})

test('a patch path is a chain from the type: nothing is grouped, computed or commented', () => {
  for (const text of [
    ...['name', '(Patient).name', 'Patient | Patient', 'Patient.name as Foo', 'Patient.name + 1', '+Patient.name'],
    ...['Patient.name // comment', '%resource.name', 'Patient.name[-1]', 'Patient.name[1.5]', 'Patient.name[a]'],
    ...['Patient.name.where((use = 1))', 'Patient.name.where(use = 1 and (given = 2))', 'Patient.name.where(use)'],
    ...['Patient.name.where(use = - 1)', 'Patient.name.where(use = --1)', 'Patient.name.where(use = given)'],
    ...['Patient.name.exists()', 'Patient.name.first(1)', 'Patient.name.count()', 'Patient.name.ofType(a.b.c)'],
    ...['Patient.name.where(use = 1 xor use = 2)', `Patient${'.name'.repeat(51)}`, `Patient.${'a'.repeat(1_000)}`],
  ])
    assert.is(parsePatchPath(text, 'Patient'), undefined, text)
})

test('brackets within brackets are read or refused, and overflow nothing', () => {
  for (const text of ['('.repeat(1_000), `${'('.repeat(300)}a${')'.repeat(300)}`, 'a.where('.repeat(500)])
    try {
      parse(text)
    } catch (error) {
      assert.instance(error, NotSupported)
    }
  assert.is(parsePatchPath('Patient.where('.repeat(70), 'Patient'), undefined)
})

test.run()
