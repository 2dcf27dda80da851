/**
 * UCUM units that differ from one another by a power of ten or a plain factor: mg/dL and g/L, min and h. A search for
 * one of them looks for all. https://ucum.org/ucum
 */

export interface Equivalent {
  readonly code: string
  /** What a number in the given unit is multiplied by. */
  readonly factor: number
}

const PREFIXES: readonly (readonly [string, number])[] = [
  ['k', 1e3],
  ['', 1],
  ['d', 1e-1],
  ['c', 1e-2],
  ['m', 1e-3],
  ['u', 1e-6],
  ['n', 1e-9],
  ['p', 1e-12],
]
const BASES = ['g', 'L', 'l', 'm', 'mol', 'Pa', 'J', 'cal', 'V', 'W', 'U', '[iU]', 'eq', 'osm', 'Hz', 'bar', 'm[Hg]']
/** Units of one dimension that are no prefixes of one another. */
const GROUPS: readonly (readonly (readonly [string, number])[])[] = [
  [
    ['s', 1],
    ['ms', 1e-3],
    ['min', 60],
    ['h', 3600],
    ['d', 86_400],
    ['wk', 604_800],
  ],
  [
    ['a', 12],
    ['mo', 1],
  ],
  [
    ['[in_i]', 0.0254],
    ['[ft_i]', 0.3048],
    ['m', 1],
    ['cm', 0.01],
    ['mm', 0.001],
    ['km', 1000],
  ],
  [
    ['[lb_av]', 453.59237],
    ['[oz_av]', 28.349523125],
    ['g', 1],
    ['kg', 1000],
    ['mg', 0.001],
  ],
  [
    ['%', 0.01],
    ['1', 1],
  ],
]

interface Atom {
  readonly base: string
  readonly factor: number
}

const LITRE: Readonly<Record<string, string>> = { l: 'L' }

const readAtom = (text: string): Atom | undefined => {
  for (const base of BASES)
    if (text.endsWith(base))
      for (const [prefix, factor] of PREFIXES) if (text === prefix + base) return { base: LITRE[base] ?? base, factor }
  return undefined
}

const spellings = (base: string): readonly (readonly [string, number])[] =>
  PREFIXES.flatMap(([prefix, factor]) =>
    (base === 'L' ? ['L', 'l'] : [base]).map((one): readonly [string, number] => [prefix + one, factor]),
  )

/** Other units for the same thing, without the unit itself. Empty for a unit this simple table does not know. */
export const equivalents = (code: string): readonly Equivalent[] => {
  const [numerator = '', denominator, ...rest] = code.split('/')
  if (rest.length > 0 || code.length > 20) return []
  const found = new Map<string, number>()
  const group = GROUPS.find((units) => units.some(([unit]) => unit === code))
  const own = group?.find(([unit]) => unit === code)?.[1]
  for (const [unit, factor] of group ?? []) found.set(unit, (own as number) / factor)
  const top = readAtom(numerator)
  if (top !== undefined && denominator === undefined)
    for (const [unit, factor] of spellings(top.base)) found.set(unit, top.factor / factor)
  const bottom = denominator === undefined ? undefined : readAtom(denominator)
  if (top !== undefined && bottom !== undefined)
    for (const [unit, factor] of spellings(top.base))
      for (const [per, perFactor] of spellings(bottom.base))
        found.set(`${unit}/${per}`, top.factor / factor / (bottom.factor / perFactor))
  found.delete(code)
  return [...found].map(([unit, factor]) => ({ code: unit, factor }))
}
