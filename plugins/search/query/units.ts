/**
 * UCUM units of one dimension that differ by a factor, such as mg/dL and g/L, min and h, mm[Hg] and kPa. A search
 * with one of them also finds values in the others. Units with an offset, such as Cel and [degF], are not converted.
 * Factors are exact ratios because search bounds are exact; with doubles, 10*9/L to 10*3/uL would give
 * 1.0000000000000002. https://ucum.org/ucum
 */
import { decimal, divide, multiply, type Ratio, readRatio } from '../../model/service.ts'

export interface Equivalent {
  /** Codes of units of the same size. */
  readonly codes: readonly string[]
  /** A number in the given unit is multiplied by this. */
  readonly factor: Ratio
}

/** Unit → its size, as a multiple of the dimension's base unit. */
type Family = ReadonlyMap<string, Ratio>
type Factors = readonly (readonly [string, Ratio])[]

const factors = (...units: readonly (readonly [string, string])[]): Factors =>
  units.map(([unit, factor]) => [unit, readRatio(factor) as Ratio])

/** Prefixes that are combined with units in ratios as well. Other prefixes are used only in single units. */
const NEAR_PREFIXES = factors(
  ...([
    ['', '1'],
    ['k', '1e3'],
    ['d', '1e-1'],
    ['c', '1e-2'],
    ['m', '1e-3'],
    ['u', '1e-6'],
    ['n', '1e-9'],
    ['p', '1e-12'],
    ['f', '1e-15'],
    ['a', '1e-18'],
  ] as const),
)
const FAR_PREFIXES = factors(
  ...([
    ['da', '1e1'],
    ['h', '1e2'],
    ['M', '1e6'],
    ['G', '1e9'],
    ['T', '1e12'],
    ['P', '1e15'],
    ['E', '1e18'],
    ['Z', '1e21'],
    ['Y', '1e24'],
    ['z', '1e-21'],
    ['y', '1e-24'],
  ] as const),
)

/** The units of one dimension: `metric` ones, which take prefixes, and `plain` ones, which take none. */
interface Dimension {
  readonly metric: Factors
  readonly plain?: Factors
}

const INCH = readRatio('0.0254') as Ratio
const POUND_FORCE = multiply(readRatio('0.45359237') as Ratio, readRatio('9.80665') as Ratio)
const PSI = divide(POUND_FORCE, multiply(INCH, INCH))

const metric = (...units: readonly string[]): Dimension => ({
  metric: factors(...units.map((one) => [one, '1'] as const)),
})
const plain = (...units: readonly (readonly [string, string])[]): Dimension => ({
  metric: [],
  plain: factors(...units),
})

const DIMENSIONS: readonly Dimension[] = [
  { ...metric('g'), plain: factors(['t', '1e6'], ['[lb_av]', '453.59237'], ['[oz_av]', '28.349523125']) },
  {
    ...metric('m'),
    plain: factors(['[in_i]', '0.0254'], ['[ft_i]', '0.3048'], ['[yd_i]', '0.9144'], ['[mi_i]', '1609.344']),
  },
  { ...metric('s'), plain: factors(['min', '60'], ['h', '3600'], ['d', '86400'], ['wk', '604800']) },
  plain(['a', '12'], ['mo', '1']),
  { ...metric('L', 'l'), plain: factors(['m3', '1e3'], ['dm3', '1'], ['cm3', '1e-3'], ['mm3', '1e-6']) },
  plain(['m2', '1'], ['dm2', '1e-2'], ['cm2', '1e-4'], ['mm2', '1e-6'], ['km2', '1e6']),
  {
    metric: factors(['Pa', '1'], ['bar', '1e5'], ['m[Hg]', '133322'], ['m[H2O]', '9806.65']),
    plain: [['[psi]', PSI]],
  },
  { metric: factors(['J', '1'], ['cal', '4.184']) },
  ...['mol', 'V', 'W', 'U', 'eq', 'osm', 'Hz'].map((one) => metric(one)),
  metric('[iU]', '[IU]'),
  plain(['1', '1'], ['%', '0.01'], ['[ppth]', '1e-3'], ['[ppm]', '1e-6'], ['[ppb]', '1e-9']),
]
/** Numerators that are plain numbers: `10*9` of `10*9/L`, and the empty one of `/min`. */
const COUNTS: Family = new Map([
  ['', decimal(1n)],
  ...Array.from({ length: 18 }, (_, at) => [`10*${at + 1}`, decimal(1n, at + 1)] as const),
])

const familyOf = ({ metric: bases, plain: others = [] }: Dimension, prefixes: Factors): Family =>
  new Map([
    ...bases.flatMap(([unit, size]) =>
      prefixes.map(([prefix, factor]): readonly [string, Ratio] => [prefix + unit, multiply(size, factor)]),
    ),
    ...others,
  ])
const SINGLE = DIMENSIONS.map((one) => familyOf(one, [...NEAR_PREFIXES, ...FAR_PREFIXES]))
const BOTTOM = DIMENSIONS.map((one) => familyOf(one, NEAR_PREFIXES))
const TOP = [...BOTTOM, COUNTS]

/** The other units of a family, grouped by factor. */
const grouped = (code: string, own: Ratio, family: Iterable<readonly [string, Ratio]>): readonly Equivalent[] => {
  const groups = new Map<string, { codes: string[]; factor: Ratio }>()
  for (const [unit, size] of family) {
    if (unit === code) continue
    const factor = divide(own, size)
    // Trailing zeros of the digits move to the exponent, so that equal factors have equal keys.
    const digits = String(factor.digits).replace(/0+$/, '')
    const key = `${digits}e${factor.exponent + String(factor.digits).length - digits.length}/${factor.over}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { codes: [unit], factor })
    else group.codes.push(unit)
  }
  return [...groups.values()]
}

/** Other units that a unit can be converted to. Empty for an unknown unit. */
export const equivalents = (code: string): readonly Equivalent[] => {
  const [numerator = '', denominator, ...rest] = code.split('/')
  if (rest.length > 0 || code.length > 20) return []
  if (denominator === undefined) {
    const family = SINGLE.find((one) => one.has(code))
    return family === undefined ? [] : grouped(code, family.get(code) as Ratio, family)
  }
  const top = TOP.find((one) => one.has(numerator))
  const bottom = BOTTOM.find((one) => one.has(denominator))
  if (top === undefined || bottom === undefined) return []
  const ratios = [...top].flatMap(([unit, size]) =>
    [...bottom].map(([per, perSize]): readonly [string, Ratio] => [`${unit}/${per}`, divide(size, perSize)]),
  )
  const own = divide(top.get(numerator) as Ratio, bottom.get(denominator) as Ratio)
  return grouped(code, own, ratios)
}
