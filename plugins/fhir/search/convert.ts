/**
 * Values of FHIR types → index rows. One function for each kind of parameter and FHIR type; the generated extractors
 * call them. Nothing is trusted to have the type it should: what does not fit makes no row.
 * https://hl7.org/fhir/R4/search.html#ptypes
 */
import { fold, KEY_CHARS, toKey } from './fold.ts'
import type { Hasher } from './hash.ts'
import { EARLIEST, LATEST, type Range, readMoment } from './moment.ts'
import type { Rows } from './rows.ts'
import { WIDE, WIDE_MS } from './wide.ts'

/** Columns beside a column: the texts of its codes, identifiers by type, identifiers of references (and WIDE). */
export const TEXT = 1
export const OF_TYPE = 2
export const IDENTIFIER = 3
/** Codes of columns are this far apart. */
export const COLUMN_STEP = 4

export type Kind = 'token' | 'reference' | 'date' | 'string' | 'quantity' | 'uri'

type Json = Record<string, unknown>
export type Convert = (rows: Rows, column: number, value: any) => void

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const asText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const KNOWN_DISPLAYS = 2_000
const SEPARATOR = '\u0001'
export const TEXT_SEPARATOR = SEPARATOR

/** Type a literal reference names: `Patient` of `http://a/Patient/1/_history/2`. */
export const typeOfReference = (text: string): string | undefined =>
  /(?:^|\/)([A-Z][A-Za-z]+)\/[A-Za-z0-9\-.]{1,64}(?:\/_history\/[A-Za-z0-9\-.]{1,64})?$/.exec(text)?.[1]

export const createConverters = ({ long, short }: Hasher) => {
  const span: Range = { lo: 0, hi: 0 }

  // token

  // Displays are few and come again and again.
  const displays = new Map<string, { readonly key: string; readonly value: number }>()
  const displayOf = (text: string): { readonly key: string; readonly value: number } => {
    const found = displays.get(text)
    if (found !== undefined) return found
    const key = toKey(fold(text))
    const made = { key, value: long(key) }
    if (displays.size >= KNOWN_DISPLAYS) displays.clear()
    if (text.length <= KEY_CHARS) displays.set(text, made)
    return made
  }
  const addText = (rows: Rows, column: number, display: unknown): void => {
    const text = asText(display)
    if (text === undefined) return
    const { key, value } = displayOf(text)
    if (key === '') return
    rows.token.push(column + TEXT, value, 0)
    rows.text.push(column + TEXT, key, value)
  }
  const addToken = (rows: Rows, column: number, system: unknown, code: unknown): void => {
    if (typeof code === 'string' && code !== '')
      rows.token.push(column, long(code), typeof system === 'string' && system !== '' ? short(system) : 0)
    else if (typeof system === 'string' && system !== '') rows.token.push(column, long(''), short(system))
  }
  const tokenCoding: Convert = (rows, column, value: Json) => {
    addToken(rows, column, value.system, value.code)
    if (value.display !== undefined) addText(rows, column, value.display)
  }
  const tokenCodeableConcept: Convert = (rows, column, value: Json) => {
    const { coding, text } = value
    let last: unknown
    if (Array.isArray(coding))
      for (const one of coding)
        if (isObject(one)) {
          addToken(rows, column, one.system, one.code)
          if (one.display !== undefined && one.display !== last) addText(rows, column, one.display)
          last = one.display
        }
    if (text !== undefined && text !== last) addText(rows, column, text)
  }
  const tokenIdentifier: Convert = (rows, column, value: Json) => {
    addToken(rows, column, value.system, value.value)
    const { type } = value
    if (!isObject(type)) return
    if (type.text !== undefined) addText(rows, column, type.text)
    if (typeof value.value === 'string')
      for (const one of listOf(type.coding))
        if (isObject(one) && typeof one.code === 'string')
          rows.token.push(
            column + OF_TYPE,
            long(`${one.code}${SEPARATOR}${value.value}`),
            typeof one.system === 'string' ? short(one.system) : 0,
          )
  }
  const tokenContactPoint: Convert = (rows, column, value: Json) => {
    if (typeof value.value === 'string' && value.value !== '') rows.token.push(column, long(value.value), 0)
  }
  const tokenPrimitive: Convert = (rows, column, value) => {
    if (typeof value === 'string') {
      if (value !== '') rows.token.push(column, long(value), 0)
    } else if (typeof value === 'boolean' || typeof value === 'number') rows.token.push(column, long(String(value)), 0)
  }

  // reference

  const addReference = (rows: Rows, column: number, text: string): void => {
    if (text === '' || text.charCodeAt(0) === 35 /* # */) return
    const version = text.indexOf('/_history/')
    if (version > 0) rows.reference.push(column, long(text.slice(0, version)))
    const bar = text.indexOf('|')
    if (bar > 0) rows.reference.push(column, long(text.slice(0, bar)))
    rows.reference.push(column, long(text))
  }
  const referenceReference: Convert = (rows, column, value: Json) => {
    if (typeof value.reference === 'string') addReference(rows, column, value.reference)
    if (isObject(value.identifier)) addToken(rows, column + IDENTIFIER, value.identifier.system, value.identifier.value)
  }
  const referenceUri: Convert = (rows, column, value) => {
    if (typeof value === 'string') addReference(rows, column, value)
  }
  const referenceResource: Convert = (rows, column, value: Json) => {
    if (typeof value.id === 'string') addReference(rows, column, `${value.resourceType}/${value.id}`)
  }

  // date

  const addDate = (rows: Rows, column: number, lo: number, hi: number): void => {
    rows.date.push(hi - lo > WIDE_MS ? column + WIDE : column, lo, hi)
  }
  const dateMoment: Convert = (rows, column, value) => {
    if (typeof value === 'string' && readMoment(value, span)) addDate(rows, column, span.lo, span.hi)
  }
  const datePeriod: Convert = (rows, column, value: Json) => {
    let lo = EARLIEST
    let hi = LATEST
    let known = false
    if (typeof value.start === 'string' && readMoment(value.start, span)) {
      lo = span.lo
      known = true
    }
    if (typeof value.end === 'string' && readMoment(value.end, span)) {
      hi = span.hi
      known = true
    }
    if (known) addDate(rows, column, lo, hi)
  }
  const dateTiming: Convert = (rows, column, value: Json) => {
    let lo = LATEST
    let hi = EARLIEST
    for (const event of listOf(value.event))
      if (typeof event === 'string' && readMoment(event, span)) {
        if (span.lo < lo) lo = span.lo
        if (span.hi > hi) hi = span.hi
      }
    if (hi > lo) addDate(rows, column, lo, hi)
    const bounds = isObject(value.repeat) ? value.repeat.boundsPeriod : undefined
    if (isObject(bounds)) datePeriod(rows, column, bounds)
  }

  // string

  const addString = (rows: Rows, column: number, value: unknown): void => {
    if (typeof value !== 'string') return
    const folded = fold(value)
    if (folded === '') return
    const key = toKey(folded)
    rows.string.push(column, key, long(value), key.length === folded.length ? null : folded)
  }
  const addStrings = (rows: Rows, column: number, value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) addString(rows, column, one)
    else addString(rows, column, value)
  }
  const stringHumanName: Convert = (rows, column, value: Json) => {
    addString(rows, column, value.text)
    addString(rows, column, value.family)
    addStrings(rows, column, value.given)
    addStrings(rows, column, value.prefix)
    addStrings(rows, column, value.suffix)
  }
  const stringAddress: Convert = (rows, column, value: Json) => {
    addString(rows, column, value.text)
    addStrings(rows, column, value.line)
    addString(rows, column, value.city)
    addString(rows, column, value.district)
    addString(rows, column, value.state)
    addString(rows, column, value.postalCode)
    addString(rows, column, value.country)
  }
  const stringCodeableConcept: Convert = (rows, column, value: Json) => {
    addString(rows, column, value.text)
    for (const one of listOf(value.coding)) if (isObject(one)) addString(rows, column, one.display)
  }

  // number and quantity

  const addQuantity = (rows: Rows, column: number, low: number, high: number, of: Json): void => {
    const code = asText(of.code)
    const unit = asText(of.unit)
    const system = asText(of.system)
    rows.quantity.push(
      low === high ? column : column + WIDE,
      low,
      high,
      code === undefined ? 0 : long(code),
      system === undefined ? 0 : short(system),
      unit === undefined ? 0 : short(unit),
    )
  }
  const quantityNumber: Convert = (rows, column, value) => {
    if (typeof value === 'number') rows.quantity.push(column, value, value, 0, 0, 0)
  }
  const quantityQuantity: Convert = (rows, column, value: Json) => {
    const number = value.value
    if (typeof number !== 'number') return
    const comparator = value.comparator
    const isLess = comparator === '<' || comparator === '<='
    const isMore = comparator === '>' || comparator === '>='
    addQuantity(rows, column, isLess ? -Number.MAX_VALUE : number, isMore ? Number.MAX_VALUE : number, value)
  }
  const quantityMoney: Convert = (rows, column, value: Json) => {
    if (typeof value.value === 'number')
      addQuantity(rows, column, value.value, value.value, { code: value.currency, system: 'urn:iso:std:iso:4217' })
  }
  const quantityRange: Convert = (rows, column, value: Json) => {
    const low = isObject(value.low) && typeof value.low.value === 'number' ? value.low : undefined
    const high = isObject(value.high) && typeof value.high.value === 'number' ? value.high : undefined
    const unit = low ?? high
    if (unit !== undefined)
      addQuantity(
        rows,
        column,
        low === undefined ? -Number.MAX_VALUE : (low.value as number),
        high === undefined ? Number.MAX_VALUE : (high.value as number),
        unit,
      )
  }
  const quantitySampledData: Convert = (rows, column, value: Json) => {
    const { origin, data, factor } = value
    if (!isObject(origin) || typeof data !== 'string') return
    const start = typeof origin.value === 'number' ? origin.value : 0
    const scale = typeof factor === 'number' ? factor : 1
    let low = Number.MAX_VALUE
    let high = -Number.MAX_VALUE
    for (const point of data.split(' ')) {
      const number = point === '' ? Number.NaN : Number(point)
      if (Number.isNaN(number)) continue
      low = Math.min(low, start + number * scale)
      high = Math.max(high, start + number * scale)
    }
    if (high >= low) addQuantity(rows, column, low, high, origin)
  }

  // uri: kept as it is, because searches by prefix need it

  const uriUri: Convert = (rows, column, value) => {
    if (typeof value !== 'string' || value === '') return
    const key = toKey(value)
    rows.string.push(column, key, long(value), key.length === value.length ? null : value)
  }

  const primitives = (convert: Convert, names: string): Record<string, Convert> =>
    Object.fromEntries(names.split(' ').map((name) => [name, convert]))
  const quantities = primitives(quantityQuantity, 'Quantity SimpleQuantity Age Duration Count Distance MoneyQuantity')
  const table: Readonly<Record<Kind, Readonly<Record<string, Convert>>>> = {
    token: {
      Coding: tokenCoding,
      CodeableConcept: tokenCodeableConcept,
      Identifier: tokenIdentifier,
      ContactPoint: tokenContactPoint,
      ...primitives(
        tokenPrimitive,
        'code boolean string id uri url canonical oid uuid integer positiveInt unsignedInt',
      ),
    },
    reference: {
      Reference: referenceReference,
      ...primitives(referenceUri, 'canonical uri url oid uuid'),
      Resource: referenceResource,
    },
    date: { ...primitives(dateMoment, 'date dateTime instant'), Period: datePeriod, Timing: dateTiming },
    string: {
      ...primitives(addString, 'string markdown code id uri url canonical'),
      HumanName: stringHumanName,
      Address: stringAddress,
      CodeableConcept: stringCodeableConcept,
    },
    quantity: {
      ...quantities,
      ...primitives(quantityNumber, 'decimal integer positiveInt unsignedInt'),
      Money: quantityMoney,
      Range: quantityRange,
      SampledData: quantitySampledData,
    },
    uri: primitives(uriUri, 'uri url canonical oid uuid string code'),
  }

  /** The value of an extension under whatever type it has. */
  const extension =
    (kind: Kind): Convert =>
    (rows, column, value: Json) => {
      for (const member in value)
        if (member.startsWith('value') && member.length > 5) {
          const name = member.slice(5)
          const convert = table[kind][name] ?? table[kind][name.charAt(0).toLowerCase() + name.slice(1)]
          if (convert !== undefined && value[member] !== null) convert(rows, column, value[member])
        }
    }
  return {
    /** The function for values of a FHIR type, or undefined when such a value means nothing to this kind. */
    of: (kind: Kind, type: string): Convert | undefined => (type === 'Extension' ? extension(kind) : table[kind][type]),
    /** `resolve() is X`, told from the reference alone. */
    refers: (value: unknown, type: string, resource: Json): boolean => {
      const text = typeof value === 'string' ? value : isObject(value) ? value.reference : undefined
      if (typeof text === 'string') {
        if (text.startsWith('#'))
          return listOf(resource.contained).some(
            (one) => isObject(one) && `#${one.id}` === text && one.resourceType === type,
          )
        const named = typeOfReference(text)
        if (named !== undefined) return named === type
      }
      return isObject(value) && value.type === type
    },
    hasExtension: (value: unknown, url: string): boolean =>
      isObject(value) && listOf(value.extension).some((one) => isObject(one) && one.url === url),
  }
}

export type Converters = ReturnType<typeof createConverters>

/** Types a kind can index, for deciding at compile time; the same table, without a database's seed. */
export const convertible = (() => {
  const converters = createConverters({ long: () => 0, short: () => 0 })
  return (kind: Kind, type: string): boolean => converters.of(kind, type) !== undefined
})()
