/** Texts that readers are tried with beside those of the definitions: drawn, and the same ones each time. */

/** Numbers below `below`, by the generator mulberry32. */
const drawer = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below)
  }
}
type Draw = ReturnType<typeof drawer>

const oneOf = (draw: Draw, list: readonly string[]): string => list[draw(list.length)] as string

const MEMBERS = (
  'active name birthDate deceased contact gender link other managingOrganization telecom period given value identifier extension ' +
  'system use multipleBirth contained id meta lastUpdated text reference type generalPractitioner address `name` is contains'
).split(' ')
const PLAIN = (
  'active name birthDate deceased contact gender link other managingOrganization telecom period given value identifier id meta ' +
  'name name deceased birthDate generalPractitioner link contact identifier communication'
).split(' ')
const TYPES = [
  'boolean',
  'dateTime',
  'FHIR.dateTime',
  'Patient',
  'Practitioner',
  'System.Boolean',
  'Foo',
  '`Quantity`',
  'a.b',
]
const LITERALS = ["'a'", "'official'", "'2012-01'", "''", "'it\\'s'", '1', '1.5', '007', 'true', 'false', '{}']
const OPERATORS = '| | | and and or = = != xor implies in contains ~ !~ < > <= >= + - * / & div mod is as'.split(' ')
const CALLS =
  'exists empty not count first last tail distinct hasValue resolve toString single allTrue children descendants where()'.split(
    ' ',
  )
const ONE = 'where exists all select extension hasExtension startsWith matches union combine contains skip iif'.split(
  ' ',
)

const expression = (draw: Draw, depth: number): string => {
  const inner = (): string => expression(draw, depth - 1)
  if (depth <= 0) return draw(4) === 0 ? oneOf(draw, LITERALS) : oneOf(draw, MEMBERS)
  switch (draw(14)) {
    case 0:
      return oneOf(draw, LITERALS)
    case 1:
      return oneOf(draw, [
        '$this',
        '%resource',
        '%context',
        '%rootResource',
        '%ucum',
        '%foo',
        'Patient',
        'Resource',
        '$index',
      ])
    case 2:
    case 3:
      return `${inner()}.${oneOf(draw, MEMBERS)}`
    case 4:
      return `${inner()}.${oneOf(draw, CALLS).replace('()', '')}()`
    case 5:
      return `${inner()}.${oneOf(draw, ONE)}(${inner()})`
    case 6:
      return `${inner()}.${oneOf(draw, ['as', 'is', 'ofType'])}(${oneOf(draw, TYPES)})`
    case 7:
      return `(${inner()} ${oneOf(draw, ['as', 'is'])} ${oneOf(draw, TYPES)})`
    case 8:
      return `${inner()}[${draw(3)}]`
    case 9:
      return `(${inner()})`
    case 10:
      return `${oneOf(draw, ['-', '+', '', ''])}${inner()}`
    default:
      return `${inner()} ${oneOf(draw, OPERATORS)} ${inner()}`
  }
}

/** Takes a character away, doubles one, puts another in its place, or changes nothing. */
const damaged = (draw: Draw, text: string, signs: string): string => {
  const at = draw(text.length)
  const sign = signs[draw(signs.length)] as string
  switch (draw(12)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1)
    case 1:
      return text.slice(0, at) + sign + text.slice(at)
    case 2:
      return text.slice(0, at) + sign + text.slice(at + 1)
    default:
      return text
  }
}

/** Of what search knows: paths, conditions, types. */
const plainExpression = (draw: Draw): string => {
  const path = (): string => Array.from({ length: 1 + draw(2) }, () => oneOf(draw, PLAIN)).join('.')
  const step = (): string =>
    oneOf(draw, [
      '',
      '',
      `.where(${path()} = ${oneOf(draw, LITERALS)})`,
      `.where(${oneOf(draw, ['', '$this.', 'name.'])}resolve() is ${oneOf(draw, TYPES)})`,
      `.where(${path()}.exists())`,
      `.ofType(${oneOf(draw, TYPES)})`,
      `.as(${oneOf(draw, TYPES)})`,
      ` as ${oneOf(draw, TYPES)}`,
      `.is(${oneOf(draw, TYPES)})`,
      '.first()',
      `[${draw(3)}]`,
      `.extension('http://a')`,
      `.where(hasExtension('http://a'))`,
      `.exists() and Patient.${path()} != false`,
      ` | ${path()}`,
    ])
  const whole = `${oneOf(draw, ['Patient.', 'Patient.', '', '%resource.', '$this.'])}${path()}${step()}`
  return oneOf(draw, [whole, whole, `(${whole})`, `(${whole}).${path()}`, `${whole} | ${path()}${step()}`])
}

/** `share`: how much of them is drawn, where 1 is all. */
export function* expressionTexts(share = 1): Generator<string> {
  const draw = drawer(1)
  for (let at = 0; at < 12_000 * share; at++) {
    if (draw(2) === 0) {
      yield damaged(draw, plainExpression(draw), "().,'[]=|!/%$<+ a")
      continue
    }
    const text = expression(draw, 1 + draw(4))
    yield damaged(draw, draw(3) > 0 && !text.startsWith('Patient') ? `Patient.${text}` : text, "().,'[]=|!/%$<+ a")
  }
}

const STEPS = [
  'first()',
  'last()',
  'single()',
  'exists()',
  'first(1)',
  "extension('http://a')",
  'extension(5)',
  'foo()',
]

const patchPath = (draw: Draw, depth: number): string => {
  let text = ''
  for (let left = 1 + draw(4); left > 0; left--) {
    const before = text === '' ? '' : '.'
    switch (draw(9)) {
      case 0:
        text += `${before}${oneOf(draw, STEPS)}`
        break
      case 1:
        text += `[${oneOf(draw, ['0', '1', '-1', '1.0', '1.5', "'a'", 'id'])}]`
        break
      case 2:
        text += `${before}${oneOf(draw, ['ofType', 'as', 'is'])}(${oneOf(draw, [...TYPES, 'true'])})`
        break
      case 3:
        if (depth > 0) text += `${before}where(${criteria(draw, depth - 1)})`
        break
      default:
        text += before + oneOf(draw, MEMBERS)
    }
  }
  return text
}

const criteria = (draw: Draw, depth: number): string => {
  const literal = oneOf(draw, [
    "'a'",
    "'it\\'s'",
    "'\\u0041\\n'",
    '5',
    '-5',
    '+5',
    '1.50',
    'true',
    'false',
    'name',
    '{}',
    '(5)',
  ])
  const start = oneOf(draw, ['', '', '', '$this.', '$this', '%resource.', '('])
  const one = `${start}${patchPath(draw, depth)}${draw(3) === 0 ? '.exists()' : ` ${oneOf(draw, ['=', '=', '!=', '~', '<'])} ${literal}`}`
  return draw(3) > 0 ? one : `${one} ${oneOf(draw, ['and', 'and', 'or', 'xor', ','])} ${criteria(draw, depth)}`
}

export function* patchPathTexts(share: number): Generator<string> {
  const draw = drawer(2)
  const starts = [
    'Patient',
    'Patient',
    'Patient',
    'Patient',
    'Resource',
    'DomainResource',
    '`Patient`',
    'Observation',
    '',
  ]
  for (let at = 0; at < 30_000 * share; at++)
    yield damaged(draw, `${oneOf(draw, starts)}.${patchPath(draw, 2)}`, "().,'[]=-|!/%$<+ a`")
  for (const many of [45, 49, 50, 51, 200])
    for (const step of ['.name', '[0]', ".extension('a')"]) yield `Patient${step.repeat(many)}`
}

export function* dateTexts(share: number): Generator<string> {
  const draw = drawer(3)
  const two = (below: number): string => String(draw(below)).padStart(2, '0')
  yield* [
    '',
    'Z',
    '2020-01-01T',
    '2020-05:00',
    '202010:00:00',
    '2020-01-0110:00:00',
    '24:00:00',
    '2020-01-01Z',
    '10:00:00Z',
  ]
  for (let at = 0; at < 60_000 * share; at++) {
    const year = draw(8) === 0 ? `00${two(100)}` : `${19 + draw(2)}${two(100)}`
    const date = `${year}-${two(draw(4) === 0 ? 14 : 12)}-${two(draw(4) === 0 ? 33 : 30)}`
    const seconds = draw(5) === 0 ? '' : `:${two(62)}`
    const fraction = draw(2) === 0 ? '' : `.${String(draw(1e9)).repeat(2).slice(0, draw(12))}`
    const time = `${two(draw(4) === 0 ? 25 : 24)}:${two(draw(4) === 0 ? 61 : 60)}${seconds}${fraction}`
    const zone = oneOf(draw, [
      '',
      'Z',
      'Z',
      '+00:00',
      `+${two(16)}:${two(61)}`,
      `-${two(16)}:${two(61)}`,
      '+14:00',
      '+14:30',
      '-14:00',
    ])
    const whole = [
      date.slice(0, 4),
      date.slice(0, 7),
      date,
      `${date}T${time}${zone}`,
      `${date}T${time}${zone}`,
      time,
      time + zone,
    ]
    yield damaged(draw, oneOf(draw, whole), '-:.TZ+0 19a')
  }
}
