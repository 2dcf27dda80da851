/** Changes to bytes and to JSON values that have broken servers before. */
import type { SeededRandom } from './random.ts'

/** Text that some layer may take for something else. */
export const NASTY: readonly string[] = [
  '',
  ' ',
  '\0',
  '\ud800',
  '\udc00x',
  '\ufeff',
  '\u202e',
  '\u0130ı\u017f',
  'e\u0301'.repeat(40),
  'a'.repeat(10_000),
  '__proto__',
  'constructor',
  'toString',
  "' OR 1=1--",
  '"; DROP TABLE resource;--',
  '%',
  '_',
  '\\',
  '$1',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: what a template engine would fill in
  '${7*7}',
  '{{7*7}}',
  '../../etc/passwd',
  '..%2f..%2f',
  'http://169.254.169.254/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  '<script>alert(1)</script>',
  '<!DOCTYPE x [<!ENTITY a "b">]>',
  'urn:uuid:00000000-0000-0000-0000-000000000000',
  'Patient/1',
  'Patient/1/_history/1',
  '#',
  '#a',
  '|',
  '||',
  'a|b|c|d',
  ',',
  '$',
  '\\,',
  '-1',
  '0',
  '1e3',
  '1e999',
  '-0',
  'NaN',
  '9223372036854775808',
  '2024-02-30',
  '9999-12-31T23:59:60.999999999+14:00',
  '0000',
  'gt',
  'zz2020',
  'true',
  'null',
  '(a+)+$',
  'İ',
  '😀',
  '\r\nX: y',
  '\u001b[31m',
]

const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  -(2 ** 63),
  [],
  {},
  [[]],
  [null],
  [[[[[[[[[[]]]]]]]]]],
  { a: 1 },
  { resourceType: 'Patient' },
  { extension: [{ url: 'u', valueString: 'x' }] },
]

const spliced = (bytes: Buffer, start: number, drop: number, insert: Uint8Array): Buffer =>
  Buffer.concat([bytes.subarray(0, start), insert, bytes.subarray(start + drop)])

/** One to four changes of single bytes or runs of them. */
export const mutateBytes = (random: SeededRandom, bytes: Buffer): Buffer => {
  let out: Buffer = Buffer.from(bytes)
  for (let times = 1 + random.int(4); times > 0 && out.length > 0; times -= 1) {
    const at = random.int(out.length)
    const run = 1 + random.int(Math.min(out.length - at, random.pick([1, 4, 64, 4_096])))
    switch (random.int(9)) {
      case 0:
        out[at] = (out[at] as number) ^ (1 << random.int(8))
        break
      case 1:
        out[at] = random.int(256)
        break
      case 2:
        out = spliced(out, at, run, Buffer.alloc(0))
        break
      case 3:
        out = spliced(out, at, 0, out.subarray(at, at + run))
        break
      case 4:
        out = spliced(out, at, 0, random.bytes(1 + random.int(8)))
        break
      case 5:
        out = spliced(out, at, 0, Buffer.from(random.pick(NASTY)))
        break
      case 6:
        out = spliced(
          out,
          at,
          0,
          Buffer.from(
            random.pick(['{', '}', '[', ']', '"', ',', ':', '\\', '\\u0000', '\\ud800', '1e400', '-', '.', 'null']),
          ),
        )
        break
      case 7:
        out = out.subarray(0, at)
        break
      default:
        // A part of it somewhere else.
        out = spliced(out, random.int(out.length), 0, out.subarray(at, at + run))
    }
  }
  return out
}

type Holder = Record<string | number, unknown>
interface Spot {
  readonly holder: Holder
  readonly key: string | number
}

const spotsOf = (value: unknown, spots: Spot[] = []): Spot[] => {
  if (typeof value !== 'object' || value === null) return spots
  for (const key of Object.keys(value)) {
    spots.push({ holder: value as Holder, key })
    spotsOf((value as Holder)[key], spots)
  }
  return spots
}

const nest = (value: unknown, levels: number): unknown => {
  let out = value
  for (let level = 0; level < levels; level += 1) out = level % 2 === 0 ? [out] : { a: out }
  return out
}

const changeSpot = (random: SeededRandom, { holder, key }: Spot, spots: readonly Spot[]): void => {
  const value = holder[key]
  switch (random.int(10)) {
    case 0:
      holder[key] = structuredClone(random.pick(VALUES))
      break
    case 1:
      holder[key] = random.pick(NASTY)
      break
    case 2:
      delete holder[key]
      break
    case 3:
      holder[key] = [value]
      break
    case 4:
      if (Array.isArray(value)) holder[key] = value[0]
      else holder[key] = { [random.pick(['value', 'reference', 'coding', 'extension', 'x'])]: value }
      break
    case 5:
      // Three times two hundred of two hundred would be a test of memory alone.
      if (Array.isArray(value) && JSON.stringify(value).length < 2_000)
        holder[key] = Array.from({ length: 200 }, () => value[0])
      else if (typeof value !== 'object') holder[key] = String(value).repeat(20)
      break
    case 6: {
      const other = random.pick(spots)
      holder[key] = structuredClone(other.holder[other.key])
      break
    }
    case 7: {
      const name = random.pick([
        ...NASTY,
        'id',
        'meta',
        'extension',
        'contained',
        'resourceType',
        `_${key}`,
        'valueString',
      ])
      Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true })
      break
    }
    case 8:
      holder[key] = nest(value, random.pick([2, 50, 99, 120, 1_000]))
      break
    default:
      if (typeof value === 'string')
        holder[key] = value.length % 2 === 0 ? Number(value) : `${value}${random.pick(NASTY)}`
      else holder[key] = typeof value === 'number' ? value * 10 ** random.int(400) : (JSON.stringify(value) ?? '')
  }
}

/** One to three changes of the tree. The value itself is left as it is. */
export const mutateStructure = (random: SeededRandom, value: unknown): unknown => {
  const out = structuredClone(value)
  for (let times = 1 + random.int(3); times > 0; times -= 1) {
    const spots = spotsOf(out)
    if (spots.length > 0) changeSpot(random, random.pick(spots), spots)
  }
  return out
}
