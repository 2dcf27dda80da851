/** Numbers and quantities are compared as the decimals they are, not as doubles. https://hl7.org/fhir/R4/search.html#number */
// npm test: sqlite and postgres, each with cases of its own
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { careDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

let server: TestServer
const UCUM = 'http://unitsofmeasure.org'
const headers = { 'content-type': 'application/fhir+json' }
/** What a PUT sends: `text` is JSON, in which a number keeps the digits it is written with. */
const entryOf = (type: string, id: string, text: string): string =>
  `{"resource":{"resourceType":"${type}","id":"${id}",${text}},"request":{"method":"PUT","url":"${type}/${id}"}}`
/** In one transaction. */
const putAll = async (entries: readonly string[]): Promise<void> => {
  const payload = `{"resourceType":"Bundle","type":"transaction","entry":[${entries.join(',')}]}`
  const answer = await server.inject({ method: 'POST', url: '/', headers, payload })
  assert.is(answer.statusCode, 200, answer.body)
}
const put = (type: string, id: string, text: string): Promise<void> => putAll([entryOf(type, id, text)])
const riskOf = (id: string, value: string): string =>
  entryOf(
    'RiskAssessment',
    id,
    `"status":"final","subject":{"reference":"Patient/p"},"prediction":[{"probabilityDecimal":${value}}]`,
  )
const risk = (id: string, value: string) => putAll([riskOf(id, value)])
const CODE = '"code":{"coding":[{"system":"http://l","code":"c"}]}'
const quantityOf = (id: string, value: string, unit: string, more = ''): string =>
  entryOf(
    'Observation',
    id,
    `"status":"final",${CODE},"valueQuantity":{"value":${value},"system":"${UCUM}","code":"${unit}"${more}}`,
  )
const quantity = (...given: Parameters<typeof quantityOf>) => putAll([quantityOf(...given)])
const found = async (url: string): Promise<readonly string[]> => {
  const answer = await server.inject(url)
  assert.is(answer.statusCode, 200, `${url} ${answer.body}`)
  return ((answer.json().entry ?? []) as { resource: { id: string } }[]).map(({ resource }) => resource.id)
}
const finds = async (url: string, ids: string): Promise<void> => {
  assert.is([...(await found(url))].sort().join(' '), ids.split(' ').sort().join(' '), url)
}
const probability = (value: string) => `/RiskAssessment?probability=${encodeURIComponent(value)}&_count=1000`

test.before(async () => {
  server = await serverWith({
    plugins: [database, careDefinitions(), ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())

test('a value half a unit above is in the range of the next number, not of the one before', async () => {
  await risk('v535', '5.35')
  await risk('v015', '0.15')
  await risk('v545', '5.45')
  await finds(probability('5.4'), 'v535')
  await finds(probability('ne5.4'), 'v015 v545')
  await finds(probability('0.1'), '')
  await finds(probability('0.2'), 'v015')
  await finds(probability('5.5'), 'v545')
})

test('units are converted without rounding', async () => {
  await quantity('mg1005', '1005', 'mg')
  await quantity('inch72', '72', '[in_i]')
  await quantity('minute20', '20', 'min')
  await finds(`/Observation?value-quantity=le1.005|${UCUM}|g`, 'mg1005')
  await finds(`/Observation?value-quantity=ge1.005|${UCUM}|g`, 'mg1005')
  await finds(`/Observation?value-quantity=lt1.005|${UCUM}|g`, '')
  for (const prefix of ['', 'ge', 'le']) await finds(`/Observation?value-quantity=${prefix}6|${UCUM}|[ft_i]`, 'inch72')
  await finds(`/Observation?value-quantity=sa6|${UCUM}|[ft_i]`, '')
  // A third of an hour has no end as a decimal.
  await finds(`/Observation?value-quantity=gt0.33333333333333333333|${UCUM}|h`, 'minute20')
  await finds(`/Observation?value-quantity=lt0.33333333333333333334|${UCUM}|h`, 'minute20')
  await finds(`/Observation?code-value-quantity=http://l|c$le1.005|${UCUM}|g`, 'mg1005')
})

/** One size in the units of a family; each is found by each other one. */
const FAMILIES: readonly (readonly (readonly [string, string])[])[] = [
  [
    ['453.59237', 'g'],
    ['453592.37', 'mg'],
    ['453592370', 'ug'],
    ['453592370000', 'ng'],
    ['1', '[lb_av]'],
    ['16', '[oz_av]'],
  ],
  [
    ['0.0254', 'm'],
    ['25400', 'um'],
    ['25400000', 'nm'],
    ['1', '[in_i]'],
  ],
  [
    ['2', 's'],
    ['2000', 'ms'],
    ['2000000', 'us'],
  ],
  [
    ['133.322', 'Pa'],
    ['1', 'mm[Hg]'],
    ['0.133322', 'kPa'],
  ],
  [
    ['5', '10*9/L'],
    ['5', '10*3/uL'],
    ['5000000000', '/L'],
    ['5000', '/uL'],
  ],
  [
    ['90', 'fL'],
    ['0.00000009', 'uL'],
  ],
  [
    ['4', 'm[IU]/L'],
    ['0.004', '[IU]/L'],
    ['4', 'u[IU]/mL'],
    ['4', 'm[iU]/L'],
  ],
  [
    ['30', 'U/L'],
    ['30000', 'mU/L'],
  ],
  [
    ['1.5', 'm2'],
    ['15000', 'cm2'],
  ],
  [
    ['100', 'mL/min'],
    ['6', 'L/h'],
    ['6000', 'mL/h'],
  ],
  [
    ['45', '%'],
    ['450', '[ppth]'],
  ],
  [
    ['20', 'kg/m2'],
    ['20000', 'g/m2'],
  ],
  [
    ['60', '/min'],
    ['1', '/s'],
  ],
  [
    ['99', 'mg/dL'],
    ['0.99', 'g/L'],
    ['990', 'ug/mL'],
    ['99', 'mg/dl'],
  ],
]
test('units of one family find one another, and no others', async () => {
  await putAll(
    FAMILIES.flatMap((family, at) => family.map(([value, unit], n) => quantityOf(`family${at}-${n}`, value, unit))),
  )
  await quantity('family-cel', '37', 'Cel')
  // Units are converted in the process, whatever the database.
  for (const [at, family] of FAMILIES.entries())
    for (const [value, unit] of chosenKind.name === 'postgres' ? family.slice(-1) : family) {
      const asked = `${value}|${UCUM}|${encodeURIComponent(unit)}`
      const all = family.map((_one, n) => `family${at}-${n}`).join(' ')
      await finds(`/Observation?value-quantity=ge${asked}&value-quantity=le${asked}`, all)
      await finds(
        `/Observation?code-value-quantity=http://l|c$ge${asked}&code-value-quantity=http://l|c$le${asked}`,
        all,
      )
    }
  await finds(`/Observation?value-quantity=gt0|${UCUM}|K`, '')
  await finds(`/Observation?value-quantity=gt0|${UCUM}|mmol/L`, '')
})

test('numbers with more digits than a double holds are told apart', async () => {
  const texts = ['66.899999999999991', '66.899999999999992', '123456789.123456789', '100000000000000000000', '1e-330']
  await putAll(texts.map((text, at) => riskOf(`long${at}`, text)))
  for (const [at, text] of texts.entries()) {
    await finds(probability(text), `long${at}`)
    await finds(`${probability(`ge${text}`)}&probability=le${text}`, `long${at}`)
    await finds(`${probability(`gt${text}`)}&probability=lt${text}`, '')
  }
  await finds(`/RiskAssessment?probability=gt66.8999999999999911&probability=lt67`, 'long1')
  await finds(probability('100000000000000000001'), '')
  await put(
    'RiskAssessment',
    'long1',
    '"status":"final","subject":{"reference":"Patient/p"},"prediction":[{"probabilityDecimal":66.899999999999993}]',
  )
  await finds(probability('66.899999999999992'), '')
  await finds(probability('66.899999999999993'), 'long1')
})

/** Digits that no double and no shorter number tells apart. */
const digitsOf = (count: number, last: number): string =>
  `${Array.from({ length: count - 1 }, (_, at) => (at * 7 + 3) % 10).join('')}${last}`

test('a number is found by its own text, up to 400 digits, however it is written', async () => {
  const texts = [
    '0.0000001234567890123456785000000000000000001',
    ...[40, 41, 201, 218, 399, 400].flatMap((count) => [`0.${digitsOf(count, 1)}`, `0.${digitsOf(count, 2)}`]),
    `${digitsOf(150, 1)}.${digitsOf(250, 1)}`,
    `-${digitsOf(300, 1)}.5`,
    `0.${'0'.repeat(500)}${digitsOf(400, 1)}`,
    '1.25e-0003',
    '1e-1500',
  ]
  await putAll(texts.flatMap((text, at) => [riskOf(`own${at}`, text), quantityOf(`own${at}`, text, 'pc')]))
  for (const [at, text] of texts.entries()) {
    await finds(probability(text), `own${at}`)
    await finds(`${probability(`ge${text}`)}&probability=le${text}`, `own${at}`)
    await finds(`${probability(`gt${text}`)}&probability=lt${text}`, '')
    await finds(`/RiskAssessment?_filter=${encodeURIComponent(`probability eq ${text}`)}`, `own${at}`)
    await finds(`/Observation?value-quantity=${text}|${UCUM}|pc`, `own${at}`)
    await finds(`/Observation?code-value-quantity=http://l|c$${text}|${UCUM}|pc`, `own${at}`)
  }
})

test('a number beyond what is compared is refused with the reason', async () => {
  for (const [text, reason] of [
    [`0.${digitsOf(401, 1)}`, /is not a number of at most 400 digits/],
    [digitsOf(5_000, 1), /is not a number of at most 400 digits/],
    ['1e309', /is not a number within the range of a double/],
    ['-2e99999999999999999999', /is not a number within the range of a double/],
    ['1e', /begins with a prefix that is none of .* or it is no number/],
  ] as const)
    for (const url of [
      `/RiskAssessment?probability=${text}`,
      `/Observation?value-quantity=${text}`,
      `/Observation?code-value-quantity=http://l|c$${text}`,
    ]) {
      const answer = await server.inject(url)
      assert.is(answer.statusCode, 400, url.slice(0, 100))
      assert.match(answer.json().issue[0].diagnostics, reason)
    }
  // Zero has no digits, whatever its exponent.
  await finds(probability('lt0e999999'), (await found(probability('lt0'))).join(' '))
  assert.ok((await found(probability('0e999999'))).length > 0)
})

test('a resource with two numbers that are one double is found by both', async () => {
  await put(
    'RiskAssessment',
    'twice',
    '"status":"final","subject":{"reference":"Patient/p"},"prediction":[{"probabilityDecimal":7.00000000000000001},{"probabilityDecimal":7.00000000000000002}]',
  )
  await finds(probability('7.00000000000000001'), 'twice')
  await finds(probability('7.00000000000000002'), 'twice')
})

test('numbers are sorted by all their digits', async () => {
  const order = ['-3.00000000000000000001', '-3', '8.00000000000000001', '8.00000000000000002', '8.00000000000000003']
  for (const at of [3, 0, 4, 2, 1]) await quantity(`sort${at}`, order[at] as string, 'kat')
  const ids: string[] = []
  for (const direction of ['', '-']) {
    let next: string | undefined =
      `/Observation?value-quantity=ne0|${UCUM}|kat&_sort=${direction}value-quantity&_count=1`
    while (next !== undefined) {
      const answer = await server.inject(next)
      assert.is(answer.statusCode, 200, answer.body)
      const bundle = answer.json() as {
        entry: { resource: { id: string } }[]
        link: { relation: string; url: string }[]
      }
      ids.push(...bundle.entry.map(({ resource }) => resource.id))
      const url = bundle.link.find(({ relation }) => relation === 'next')?.url
      next = url?.slice(url.indexOf('/Observation'))
    }
  }
  assert.is(ids.join(' '), 'sort0 sort1 sort2 sort3 sort4 sort4 sort3 sort2 sort1 sort0')
})

test('a value with a comparator is all that it may be, its end told apart from what lies there', async () => {
  const unit = `${UCUM}|cd`
  await quantity('below', '5.4', 'cd', ',"comparator":"<"')
  await quantity('most', '5.4', 'cd', ',"comparator":"<="')
  await quantity('above', '5.4', 'cd', ',"comparator":">"')
  await quantity('least', '5.4', 'cd', ',"comparator":">="')
  await finds(`/Observation?value-quantity=ge5.4|${unit}`, 'most above least')
  await finds(`/Observation?value-quantity=le5.4|${unit}`, 'most below least')
  await finds(`/Observation?value-quantity=sa5.4|${unit}`, 'above')
  await finds(`/Observation?value-quantity=eb5.4|${unit}`, 'below')
  await finds(`/Observation?value-quantity=gt5.4|${unit}`, 'above least')
  await finds(`/Observation?value-quantity=lt5.4|${unit}`, 'below most')
  await finds(`/Observation?value-quantity=5.4|${unit}`, '')
})

test('points of sampled data are scaled as decimals', async () => {
  await put(
    'Observation',
    'sampled',
    `"status":"final",${CODE},"valueSampledData":{"origin":{"value":0,"system":"${UCUM}","code":"lx"},"period":1,"factor":0.1,"dimensions":1,"data":"1 3 2"}`,
  )
  await finds(`/Observation?value-quantity=le0.3|${UCUM}|lx&value-quantity=ge0.3|${UCUM}|lx`, 'sampled')
  await finds(`/Observation?value-quantity=gt0.3|${UCUM}|lx`, '')
})

// What follows is the same by an oracle that knows nothing but fractions of integers.

/** numerator / denominator, which is positive. */
interface Ratio {
  readonly n: bigint
  readonly d: bigint
}
const ratio = (text: string): Ratio => {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const digits = BigInt(`${sign}${whole}${fraction}`)
  const scale = Number(exponent) - fraction.length
  return scale < 0 ? { n: digits, d: 10n ** BigInt(-scale) } : { n: digits * 10n ** BigInt(scale), d: 1n }
}
const compare = (one: Ratio, other: Ratio): number => {
  const difference = one.n * other.d - other.n * one.d
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
const plus = (one: Ratio, other: Ratio): Ratio => ({ n: one.n * other.d + other.n * one.d, d: one.d * other.d })
const minus = (one: Ratio, other: Ratio): Ratio => plus(one, { n: -other.n, d: other.d })
const times = (one: Ratio, other: Ratio): Ratio => ({ n: one.n * other.n, d: one.d * other.d })
/** Of a positive one. */
const inverse = ({ n, d }: Ratio): Ratio => ({ n: d, d: n })
const HALF = { n: 1n, d: 2n }

/** What a stored value covers: undefined is without end, `open` leaves the end itself out. */
interface Covered {
  readonly low?: Ratio
  readonly high?: Ratio
  readonly open?: boolean
}
const covers = (value: Ratio, comparator: string): Covered => {
  if (comparator.startsWith('<')) return { high: value, open: comparator === '<' }
  if (comparator.startsWith('>')) return { low: value, open: comparator === '>' }
  return { low: value, high: value }
}
const matches = (prefix: string, text: string, factor: Ratio, { low, high, open = false }: Covered): boolean => {
  const scale = /[.](\d+)/.exec(text)?.[1]?.length ?? 0
  const exponent = Number(/e([+-]?\d+)/i.exec(text)?.[1] ?? 0)
  const exact = ratio(text)
  const half = times(ratio(`1e${exponent - scale}`), HALF)
  const value = times(exact, factor)
  const [from, to] = [times(minus(exact, half), factor), times(plus(exact, half), factor)]
  // Ends in relation to a point: 0 only where the end itself is one of the values.
  const lowTo = (point: Ratio): number => (low === undefined ? -1 : compare(low, point) || (open ? 1 : 0))
  const highTo = (point: Ratio): number => (high === undefined ? 1 : compare(high, point) || (open ? -1 : 0))
  switch (prefix) {
    case 'ne':
      return !matches('eq', text, factor, { low, high, open } as Covered)
    case 'gt':
      return highTo(value) > 0
    case 'lt':
      return lowTo(value) < 0
    case 'ge':
      return highTo(value) >= 0
    case 'le':
      return lowTo(value) <= 0
    case 'sa':
      return lowTo(value) > 0
    case 'eb':
      return highTo(value) < 0
    case 'ap': {
      const tenth = times({ n: value.n < 0n ? -value.n : value.n, d: value.d }, { n: 1n, d: 10n })
      const near = compare(tenth, minus(value, from)) > 0 ? tenth : minus(value, from)
      return lowTo(plus(value, near)) <= 0 && highTo(minus(value, near)) >= 0
    }
    default:
      return lowTo(from) >= 0 && highTo(to) < 0
  }
}

/** The same numbers in every run. */
const chance = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
const QUESTIONS = 60 // drawn of 9 prefixes and some 900 numbers
const PREFIXES = ['', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap']
/** Numbers that lie close: a few first digits, then where rounding ends and begins, short ones and long ones. */
const numberBy = (next: (below: number) => number): string => {
  const sign = next(3) === 0 ? '-' : ''
  const whole = ['0', '5', '9', '66', '9007199254740993', '100000000000000000000'][next(6)] as string
  const fraction = [
    '',
    '4',
    '35',
    '45',
    '5',
    '50',
    '05',
    '899999999999991',
    '3500000000000000000001',
    '4999999999999999999999999999999999',
  ][next(10)] as string
  const exponent = ['', '', '', 'e1', 'e-2'][next(5)] as string
  return `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}${exponent}`
}

test('numbers near one another are found as an oracle over fractions finds them', async () => {
  const next = chance(1)
  const stored = new Map(Array.from({ length: 120 }, (_, at) => [`d${at}`, numberBy(next)]))
  await putAll([...stored].map(([id, text]) => riskOf(id, text)))
  for (let at = 0; at < QUESTIONS; at += 1) {
    const [prefix, text] = [PREFIXES[next(PREFIXES.length)] as string, numberBy(next)]
    const url = probability(`${prefix}${text}`)
    const ids = (await found(url)).filter((id) => stored.has(id)).sort()
    const expected = [...stored].filter(([, one]) => matches(prefix, text, ratio('1'), covers(ratio(one), '')))
    assert.equal(ids, expected.map(([id]) => id).sort(), url)
  }
})

test('quantities with units and comparators are found as the oracle finds them', async () => {
  const next = chance(2)
  const SECONDS: Readonly<Record<string, string>> = { s: '1', ms: '0.001', min: '60', h: '3600' }
  const units = Object.keys(SECONDS)
  const stored = new Map<string, { text: string; unit: string; comparator: string }>()
  for (let at = 0; at < 120; at += 1)
    stored.set(`q${at}`, {
      text: numberBy(next),
      unit: units[next(4)] as string,
      comparator: ['', '', '', '<', '<=', '>', '>='][next(7)] as string,
    })
  await putAll(
    [...stored].map(([id, { text, unit, comparator }]) =>
      quantityOf(id, text, unit, comparator === '' ? '' : `,"comparator":"${comparator}"`),
    ),
  )
  for (let at = 0; at < QUESTIONS; at += 1) {
    const [prefix, text, unit] = [PREFIXES[next(PREFIXES.length)] as string, numberBy(next), units[next(4)] as string]
    const asked = `${prefix}${text}|${UCUM}|${unit}`
    const expected = [...stored].filter(([, one]) => {
      const factor = times(ratio(SECONDS[unit] as string), inverse(ratio(SECONDS[one.unit] as string)))
      return matches(prefix, text, factor, covers(ratio(one.text), one.comparator))
    })
    const ids = expected.map(([id]) => id).sort()
    for (const url of [`/Observation?value-quantity=`, `/Observation?code-value-quantity=http://l|c$`])
      assert.equal(
        (await found(`${url}${asked.replace('+', '%2B')}&_count=1000`)).filter((id) => stored.has(id)).sort(),
        ids,
        `${url}${asked}`,
      )
  }
})

test.run()
