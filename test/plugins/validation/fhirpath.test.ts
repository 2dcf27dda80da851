/** Compiled FHIRPath against its specification, and against fhirpath.js on the invariants of R4. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExpressionCompiler } from '../../../plugins/model/fhirpath/invariant/compile.ts'
import { hasNoSideEffects } from '../../../plugins/model/fhirpath/invariant/has-no-side-effects.ts'
import { loadInterpreter } from '../../../plugins/model/fhirpath/invariant/interpreter.ts'
import { createInvariants } from '../../../plugins/model/fhirpath/invariant/invariants.ts'
import { NotSupported } from '../../../plugins/model/fhirpath/parse.ts'
import { fieldsOf } from '../../../plugins/model/snapshot/fields.ts'
import { createRules } from '../../../plugins/validation/rules/rules.ts'
import { createStructureValidator } from '../../../plugins/validation/structure/validator.ts'
import { r4Definitions, r4Files, r4Text } from './r4.ts'

const source = r4Definitions()
const shapes = (url: string) => {
  const definition = source.definition(url)
  return definition === undefined ? undefined : fieldsOf(definition)
}

const evaluate = (type: string, expression: string, resource: object): unknown[] => {
  const shape = shapes(`http://hl7.org/fhir/StructureDefinition/${type}`)!
  const block = shape.blocks.get(type)!
  const compiled = createExpressionCompiler(
    shapes,
    type,
    shape.kind === 'resource',
  )(expression, [{ kind: 'block', name: type, shape, block }])
  return [...compiled.run({ resource, root: resource, context: resource, work: { left: 100_000 } }, [resource])]
}

const patient = {
  resourceType: 'Patient',
  active: true,
  birthDate: '1970-03-30',
  name: [
    { use: 'official', family: 'A', given: ['B', 'C'] },
    { use: 'usual', given: ['B'], _family: { extension: [{ url: 'http://x', valueCode: 'masked' }] } },
  ],
  contact: [{ name: { family: 'D' }, period: { start: '2020', end: '2021' } }],
  multipleBirthInteger: 2,
  extension: [{ url: 'http://a', valueString: 'x' }],
}

const table: readonly (readonly [expression: string, result: readonly unknown[]])[] = [
  ['active', [true]],
  ['Patient.active', [true]],
  ['name.given', ['B', 'C', 'B']],
  ['name.given.distinct()', ['B', 'C']],
  ['name.family.count()', [2]],
  ['name.where(family.hasValue()).family', ['A']],
  ['name[1].family.exists()', [true]],
  ['name[1].family.hasValue()', [false]],
  ["name[1].family = 'A'", [false]],
  ['name[7].exists()', [false]],
  ["name.where(use = 'usual').given", ['B']],
  ["name.exists(use = 'old')", [false]],
  ['name.all(given.exists())', [true]],
  ['name.select(given.first())', ['B', 'B']],
  ['name.given.tail()', ['C', 'B']],
  ['name.given.last()', ['B']],
  ['name.given.skip(1).take(1)', ['C']],
  ['photo.empty()', [true]],
  ['photo.exists().not()', [true]],
  ['photo.title', []],
  ['photo.title.not()', []],
  ["photo.title = 'x'", []],
  ["photo.title = 'x' or true", [true]],
  ["photo.title = 'x' and true", []],
  ["photo.title = 'x' and false", [false]],
  ["photo.title = 'x' implies false", []],
  ["photo.title = 'x' xor true", []],
  ['false implies photo.title.exists()', [true]],
  ['true xor false', [true]],
  ['multipleBirth', [2]],
  ['multipleBirth is integer', [true]],
  ['multipleBirth is boolean', [false]],
  ['multipleBirth is Integer', [true]],
  ['multipleBirth.ofType(integer) + 1', [3]],
  ['(multipleBirth as integer) * 2', [4]],
  ['multipleBirth as boolean', []],
  ['-multipleBirth', [-2]],
  ['multipleBirth > 1 and multipleBirth <= 2', [true]],
  ["'a' in ('a' | 'b')", [true]],
  ["('a' | 'b') contains 'c'", [false]],
  ["('a' | 'a' | 'b').count()", [2]],
  ["('a' | 'b').combine('a').isDistinct()", [false]],
  ["name.given.intersect('C' | 'D')", ['C']],
  ["name.given.exclude('B')", ['C']],
  ["name.given.subsetOf('B' | 'C' | 'D')", [true]],
  ["'a' & photo.title & 'b'", ['ab']],
  ["name.first().family.startsWith('A')", [true]],
  ["'abc'.endsWith('c') and 'abc'.contains('b')", [true]],
  ["'abc'.substring(1)", ['bc']],
  ["'abc'.substring(1, 1)", ['b']],
  ["'abc'.substring(3)", []],
  ["'abc'.matches('b')", [true]],
  ["'it\\'s'.length()", [4]],
  ["'a.b'.replaceMatches('\\\\..*', '')", ['a']],
  ["'a-b'.replace('-', '+').upper()", ['A+B']],
  ["'12'.toInteger()", [12]],
  ["'*'.toInteger()", []],
  ['multipleBirth.toString()', ['2']],
  ["iif(active, 'yes', 'no')", ['yes']],
  ["iif(photo.empty().not(), 'yes')", []],
  ['contact.period.start <= contact.period.end', [true]],
  ['contact.period.start = contact.period.end', [false]],
  ["extension('http://a').value", ['x']],
  ["extension('http://b').exists()", [false]],
  ["%ucum = 'http://unitsofmeasure.org'", [true]],
  ['%resource.name.count() = %context.name.count()', [true]],
  ['{}', []],
  ['$this.active', [true]],
  ['`active`', [true]],
  ['descendants().code.empty()', [true]],
  ["name.trace('x').count() /* two */ // names", [2]],
  ['true or photo.title', [true]],
]

for (const [expression, result] of table) {
  test(`${expression} is ${JSON.stringify(result)}`, () => {
    assert.equal(evaluate('Patient', expression, patient), result)
  })
}

test('dates are compared to the precision both have', () => {
  const check = (start: string, end: string) => evaluate('Period', 'start <= end', { start, end })
  assert.equal(check('2020', '2021-05'), [true])
  assert.equal(check('2021', '2020-05'), [false])
  assert.equal(check('2020', '2020-05'), [])
  assert.equal(check('2020-05-01T00:00:00Z', '2020-05-01T01:00:00+01:00'), [true])
  assert.equal(check('2020-05-01T00:00:01Z', '2020-05-01T01:00:00+01:00'), [false])
  assert.equal(check('2020-05-01T23:59:59.5-05:00', '2020-05-02T04:59:59.6Z'), [true])
  // A date has no zone, so a time within a day of it is neither before nor after.
  assert.equal(check('2020-05-02', '2020-05-02T10:00:00Z'), [])
  assert.equal(check('2020-05-02', '2020-05-01T20:00:00Z'), [])
  assert.equal(check('2020-05-02', '2020-04-30T23:00:00Z'), [false])
  assert.equal(check('2020-05-02', '2020-05-04T00:00:00Z'), [true])
  assert.equal(check('2020-05-04T00:00:00Z', '2020-05'), [])
  assert.equal(check('2020-06-02T00:00:00Z', '2020-05'), [false])
  assert.equal(check('2020-04-29T00:00:00Z', '2020-05'), [true])
  assert.equal(check('2020-12-31T00:00:00Z', '2021'), [])
  assert.equal(check('2020-12-30T00:00:00Z', '2021'), [true])
})

test('what is beyond it is refused, not answered wrongly', () => {
  for (const expression of [
    ...[
      'name.resolve()',
      "name.memberOf('x')",
      'now()',
      '@2020-01-01',
      '1 year',
      'birthDate.extension',
      "birthDate = '1970'",
    ],
    ...[
      'name.given and true',
      'name = name.first().',
      '(',
      'name..given',
      "'a",
      'name[',
      '%unknown',
      '$index',
      'a b',
      '',
    ],
    ...[
      'toString',
      'constructor()',
      'contained.name',
      'children()',
      '1 div 2',
      'contact.period.start < birthDate and photo.x ~ 1',
    ],
  ]) {
    try {
      const result = evaluate('Patient', expression, patient)
      assert.equal(result, [], `${expression} gives ${JSON.stringify(result)}`)
    } catch (error) {
      assert.instance(error, NotSupported, expression)
    }
  }
})

test('expressions that would ask another server are not given to fhirpath.js', () => {
  for (const pure of ['a.exists()', "a.where(b = 'resolve()').c", '%resource.a in (b | c)', "a.matches('(x)')"]) {
    assert.ok(hasNoSideEffects(pure), pure)
  }
  for (const impure of [
    ...[
      'a.resolve()',
      'a.resolve ().b',
      "a.memberOf('x')",
      "a.conformsTo('x')",
      '%terminologies.expand(a)',
      'a.weight()',
    ],
    ...["%factory.string('a')", 'a.`resolve`()', "%'terminologies'", '%vs.x', 'a.subsumes(b)', 'a.ordinal()'],
  ]) {
    assert.not(hasNoSideEffects(impure), impure)
  }
})

/** Where the two differ, and why ours stands. */
const DIFFERENT: Readonly<Record<string, string>> = {
  "operator = 'exists' implies (answer is Boolean)": 'FHIR’s boolean is meant',
}

test('on the invariants of R4 it answers what fhirpath.js answers', async () => {
  const engine = await loadInterpreter()
  const asked = new Map<string, number>()
  const differences = new Set<string>()
  let compared = 0
  const compileWith: typeof createInvariants = (options) => {
    const compile = createInvariants({ ...options, interpreter: () => null })
    return (expression, subject) => {
      const ours = compile(expression, subject)
      if (ours === null || !hasNoSideEffects(expression) || expression in DIFFERENT) return () => undefined
      const theirs = engine.compile(expression, subject.path)
      const compare = (value: unknown, resource: unknown, root: unknown): void => {
        const got = ours(value, resource, root)
        if (got === undefined) return // empty, or left to fhirpath.js
        let want: unknown
        try {
          want = theirs(value, { resource, rootResource: root, context: value })
        } catch {
          return // it cannot tell: a regular expression, or a path it does not know
        }
        compared++
        if (JSON.stringify(want) !== `[${got}]`) {
          differences.add(`${subject.path}: ${expression}: ${got}, not ${want}: ${JSON.stringify(value).slice(0, 300)}`)
        }
      }
      return (value, resource, root) => {
        const times = asked.get(expression) ?? 0
        if (times >= 6) return undefined
        asked.set(expression, times + 1)
        compare(value, resource, root)
        if (typeof value !== 'object' || value === null) return undefined
        // Without each member, with its value gone but an extension left, and with it twice.
        for (const [key, member] of Object.entries(value)) {
          const { [key]: _, ...rest } = value as Record<string, unknown>
          const variants: object[] = [rest]
          if (typeof member === 'string' && key !== 'resourceType') variants.push({ ...rest, [`_${key}`]: { id: 'x' } })
          if (Array.isArray(member) && member.length === 1) variants.push({ ...rest, [key]: [member[0], member[0]] })
          for (const variant of variants) compare(variant, value === resource ? variant : resource, root)
        }
        return undefined
      }
    }
  }
  const validator = createStructureValidator(
    r4Definitions(),
    createRules({ engine: () => engine, codes: () => undefined, compileWith }),
  )
  for (const file of r4Files()) {
    if (/^(SearchParameter|CodeSystem|ValueSet|StructureDefinition)-/.test(file) && !/-[ab]/.test(file)) continue
    const text = r4Text(file)
    if (text.length < 100_000) validator.validate(JSON.parse(text))
  }
  assert.equal([...differences], [])
  assert.ok(asked.size > 170 && compared > 8000, `${asked.size} invariants, ${compared} comparisons`)
})

test.run()
