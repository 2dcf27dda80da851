/**
 * Name and value of one search parameter → a condition. What is not known is refused by name, never ignored.
 * https://hl7.org/fhir/R4/search.html
 */
import type { Terminology } from '../../terminology/service.ts'
import type { TypeCodes } from '../store/type-codes.ts'
import {
  anyCondition,
  type Condition,
  chainCondition,
  hasCondition,
  idCondition,
  listCondition,
  lookupCondition,
  neverCondition,
  notCondition,
  presenceCondition,
  updatedCondition,
} from './condition.ts'
import { COLUMN_STEP, type Kind } from './convert.ts'
import {
  SearchChain,
  SearchEmpty,
  SearchIndexing,
  SearchModifierNeeds,
  SearchModifierUnknown,
  SearchParameterUnknown,
  SearchTooCostly,
  SearchUnsupportedParameter,
  SearchValue,
} from './errors.ts'
import { splitEscaped, unescapeValue } from './escape.ts'
import { Fragment, or, q, raw } from './fragment.ts'
import type { Lookup } from './lookup.ts'
import { dateBounds, dateLookup, numberLookup, quantityLookup, readDateValue } from './ordered-lookups.ts'
import { matches, type Planner } from './plan.ts'
import { MASK_BITS, type Parameter, type Registry } from './registry.ts'
import type { Rows } from './rows.ts'
import {
  compositeLookups,
  identifierLookups,
  ofTypeLookups,
  readToken,
  referenceLookup,
  referenceLookups,
  referenceTargets,
  stringLookups,
  textLookups,
  tokenLookups,
  uriLookups,
  type ValueContext,
} from './value-lookups.ts'

export const MOST_VALUES = 1_000 // values of one parameter; a larger set is better posted as several searches
export const MOST_DEPTH = 8 // links of a chain, `_has` in `_has`
const MOST_EXPANDED = 5_000 // codes a ValueSet may stand for

export interface CriteriaParts {
  readonly registry: Registry
  readonly planner: Planner
  readonly types: TypeCodes
  readonly dialect: ValueContext['dialect']
  readonly systemsOf: ValueContext['systemsOf']
  readonly terminology: Terminology | undefined
}

/** What a search is asked from: where this server is, when it is, what was told to see. */
export interface Asking {
  readonly baseUrl: string
  readonly now: number
  /** Largest rid this search may see. */
  readonly pin: number
  /** Conditions that what a chain or `_has` passes through must meet; undefined when that type is closed. */
  readonly allowed: (type: string) => Promise<readonly Condition[] | undefined>
}

/** Parameters of the specification that this server refuses, and why. */
export const UNSUPPORTED: Readonly<Record<string, string>> = {
  _text: 'there is no index of narratives',
  _content: 'there is no index of whole resources',
  _query: 'there are no named queries',
  _filter: 'give the conditions as parameters',
}
/** Parameters of every type that no SearchParameter's expression stands for. */
export const GENERAL = ['_id', '_lastUpdated', '_has', '_list'] as const

/** Modifiers by type of parameter, as the code below understands them. */
export const MODIFIERS: Readonly<Record<string, readonly string[]>> = {
  token: ['missing', 'text', 'code-text', 'not', 'of-type', 'in', 'not-in', 'above', 'below'],
  string: ['missing', 'exact', 'contains'],
  reference: ['missing', 'identifier', '[type]'],
  uri: ['missing', 'above', 'below'],
  date: ['missing'],
  number: ['missing'],
  quantity: ['missing'],
  composite: ['missing'],
}

interface Name {
  readonly code: string
  readonly modifier: string | undefined
  /** What follows a dot: the parameter of the type referred to. */
  readonly rest: string | undefined
}

const readName = (name: string): Name => {
  const dot = name.indexOf('.')
  const head = dot === -1 ? name : name.slice(0, dot)
  const rest = dot === -1 ? undefined : name.slice(dot + 1)
  const colon = head.indexOf(':')
  return colon === -1
    ? { code: head, modifier: undefined, rest }
    : { code: head.slice(0, colon), modifier: head.slice(colon + 1), rest }
}

const short = (text: string): string => text.slice(0, 100)

export const createCriteria = ({ registry, planner, types, dialect, systemsOf, terminology }: CriteriaParts) => {
  const codeOf = (type: string): number => types.code(type) ?? 0

  const parameterOf = (type: string, code: string): Parameter => {
    const unsupported = UNSUPPORTED[code]
    if (unsupported !== undefined) throw SearchUnsupportedParameter(code, unsupported)
    const found = registry.parameters(type).get(code)
    if (found === undefined) {
      const known = [...registry.parameters(type).keys(), ...GENERAL].sort().join(', ')
      throw SearchParameterUnknown(short(code), type, known)
    }
    if (found.columns.some(({ ready }) => !ready)) throw SearchIndexing(code)
    return found
  }

  const valuesOf = (name: string, value: string): readonly string[] => {
    const values = splitEscaped(value, ',')
    if (values.length > MOST_VALUES)
      throw SearchTooCostly(`"${short(name)}" has ${values.length} values, at most ${MOST_VALUES} are allowed`)
    const given = values.filter((one) => one !== '')
    if (given.length === 0) throw SearchEmpty(short(name))
    return given
  }

  /** The codes of a ValueSet, or above or below a code, as values of a token parameter. */
  const expand = async (name: string, modifier: string, values: readonly string[]): Promise<readonly string[]> => {
    if (terminology === undefined) throw SearchModifierNeeds(modifier, name, 'a terminology service')
    const found: string[] = []
    for (const value of values) {
      const related = modifier === 'above' || modifier === 'below'
      const token = related ? readToken(name, value) : undefined
      if (related && (token?.system === undefined || token.system === '' || token.code === undefined))
        throw SearchValue(name, `a code with its system, which :${modifier} needs`)
      const codes =
        token === undefined
          ? await terminology.expand(unescapeValue(value), MOST_EXPANDED)
          : await terminology.related(
              { system: token.system as string, code: token.code as string },
              modifier as 'above',
              MOST_EXPANDED,
            )
      if (codes === undefined)
        throw SearchValue(
          name,
          token === undefined ? 'a ValueSet that is known here' : 'a code of a system that is known here',
        )
      for (const { system, code } of codes)
        found.push(`${system.replace(/[\\,$|]/g, '\\$&')}|${code.replace(/[\\,$|]/g, '\\$&')}`)
    }
    return found
  }

  const presence = (type: string, name: string, { code, columns }: Parameter, value: string): Condition => {
    if (value !== 'true' && value !== 'false') throw SearchValue(name, 'true or false')
    if (columns.some(({ bit }) => bit < 0))
      throw SearchUnsupportedParameter(name, 'there are too many parameters of this type')
    const codes = new Set(columns.map((column) => column.code))
    const has = (list: readonly unknown[], width: number): boolean => {
      for (let at = 0; at < list.length; at += width)
        if (codes.has(Math.floor((list[at] as number) / COLUMN_STEP) * COLUMN_STEP)) return true
      return false
    }
    const test = ({ token, reference, date, quantity, string, composite }: Rows): boolean =>
      has(token, 3) || has(reference, 2) || has(date, 3) || has(quantity, 6) || has(string, 4) || has(composite, 10)
    const bits = columns.map(({ bit }) => ({ mask: Math.floor(bit / MASK_BITS), bit: bit % MASK_BITS }))
    return presenceCondition(
      { text: `${name}=${value}`, understood: `${code} is ${value === 'true' ? 'missing' : 'present'}` },
      codeOf(type),
      bits,
      value === 'false',
      test,
    )
  }

  const lookupsOf = async (
    parameter: Parameter,
    context: ValueContext,
    modifier: string | undefined,
    values: readonly string[],
  ): Promise<readonly Lookup[]> => {
    const { name, columns, hasher, now } = context
    const codes = columns.map(({ code }) => code)
    switch (parameter.type) {
      case 'token':
        if (modifier === 'text' || modifier === 'code-text') return textLookups(context, values)
        if (modifier === 'of-type') return ofTypeLookups(context, values)
        if (modifier === 'in' || modifier === 'not-in' || modifier === 'above' || modifier === 'below')
          return tokenLookups(context, await expand(name, modifier, values))
        return tokenLookups(context, values)
      case 'reference':
        if (modifier === 'identifier') return identifierLookups(context, values)
        return referenceLookups(context, values, parameter.targets, modifier)
      case 'string':
        return stringLookups(context, values, modifier)
      case 'uri':
        return uriLookups(context, values, modifier)
      case 'date':
        return values.map((value) => dateLookup(name, codes, value, now))
      case 'number':
        return values.map((value) => numberLookup(name, codes, value))
      case 'quantity':
        return values.map((value) => quantityLookup(name, hasher, codes, value))
      case 'composite':
        return compositeLookups(context, parameter.components as readonly Kind[], values)
      default:
        throw SearchUnsupportedParameter(name, 'it is no index of values')
    }
  }

  const checkModifier = (name: string, { type }: Parameter, modifier: string | undefined): void => {
    if (modifier === undefined) return
    const known = MODIFIERS[type] ?? []
    if (known.includes(modifier)) return
    if (known.includes('[type]') && types.code(modifier) !== undefined) return
    throw SearchModifierUnknown(
      short(modifier),
      type,
      short(name),
      known.map((one) => (one === '[type]' ? 'the name of a type' : `:${one}`)).join(', '),
    )
  }

  const simple = async (
    type: string,
    name: string,
    { code, modifier }: Name,
    value: string,
    asking: Asking,
  ): Promise<Condition> => {
    const parameter = parameterOf(type, code)
    checkModifier(name, parameter, modifier)
    if (modifier === 'missing') return presence(type, name, parameter, value)
    const context: ValueContext = {
      name: short(name),
      hasher: registry.hasher,
      columns: parameter.columns,
      dialect,
      baseUrl: asking.baseUrl,
      now: asking.now,
      systemsOf,
    }
    const lookups = await lookupsOf(parameter, context, modifier, valuesOf(name, value))
    const negated = modifier === 'not' || modifier === 'not-in'
    const named = {
      text: `${name}=${value}`,
      understood: `${parameter.type} ${parameter.url}${modifier === undefined ? '' : ` :${modifier}`}: ${negated ? 'none' : 'any'} of ${value}`,
    }
    const condition = lookups.length === 0 ? neverCondition(named) : lookupCondition(named, lookups)
    return negated ? notCondition(named, condition) : condition
  }

  const general = async (
    type: string,
    name: string,
    { code, modifier }: Name,
    value: string,
    asking: Asking,
  ): Promise<Condition> => {
    if (modifier !== undefined) throw SearchModifierUnknown(short(modifier), 'general', code, 'none')
    const named = { text: `${name}=${value}`, understood: `${code} ${value}` }
    const values = valuesOf(name, value)
    if (code === '_id') return idCondition(named, codeOf(type), values.map(unescapeValue))
    if (code === '_list') {
      const column = registry.parameters('List').get('item')
      if (value.startsWith('$') || column === undefined)
        throw SearchValue(name, 'the id of a List; functional lists such as $current-allergies are not kept here')
      return listCondition(
        named,
        codeOf(type),
        column.columns.map((one) => one.code),
        codeOf('List'),
        values[0] as string,
      )
    }
    // _lastUpdated, in microseconds
    const parts = values.map((one) => {
      const { prefix, range } = readDateValue(name, unescapeValue(one))
      const { any, test } = dateBounds(prefix, range, asking.now)
      const text = any.text.replaceAll('x.lo', '(x.upd / 1000)').replaceAll('x.hi', '(x.upd / 1000 + 1)')
      return { where: q`${indexable(prefix, range)}${new Fragment(text, any.params)}`, test }
    })
    return updatedCondition(named, codeOf(type), or(parts.map(({ where }) => where)), (stamp) =>
      parts.some(({ test }) => test(Math.floor(stamp / 1000), Math.floor(stamp / 1000) + 1)),
    )
  }

  /** The part of a bound on upd itself, which the index on it can use. */
  const indexable = (prefix: string, { lo, hi }: { lo: number; hi: number }): Fragment => {
    if (prefix === 'eq') return q`x.upd >= ${lo * 1000} AND x.upd < ${hi * 1000} AND `
    if (prefix === 'gt' || prefix === 'sa' || prefix === 'ge') return q`x.upd >= ${lo * 1000} AND `
    if (prefix === 'lt' || prefix === 'le' || prefix === 'eb') return q`x.upd < ${hi * 1000} AND `
    return raw('')
  }

  const inner = async (type: string, name: string, value: string, asking: Asking, depth: number) => {
    if (depth >= MOST_DEPTH) throw SearchTooCostly(`more than ${MOST_DEPTH} links in one parameter`)
    const allowed = await asking.allowed(type)
    if (allowed === undefined) return undefined
    const conditions = [await toCondition(type, name, value, asking, depth + 1), ...allowed]
    const plan = await planner(codeOf(type), conditions)
    return {
      conditions,
      found: plan.driver === undefined || plan.many ? undefined : matches(plan, asking.pin),
      size: plan.size,
    }
  }

  const chain = async (
    type: string,
    name: string,
    { code, modifier, rest }: Name,
    value: string,
    asking: Asking,
    depth: number,
  ): Promise<Condition> => {
    const parameter = parameterOf(type, code)
    if (parameter.type !== 'reference') throw SearchChain(short(name), `"${code}" is no reference`)
    if (modifier !== undefined && types.code(modifier) === undefined)
      throw SearchChain(short(name), `"${short(modifier)}" is no resource type`)
    const targets = modifier === undefined ? parameter.targets : [modifier]
    const named = {
      text: `${name}=${value}`,
      understood: `reference ${parameter.url}, then ${rest} of ${targets.join(' or ')}`,
    }
    const byRefers = parameter.columns
    const links: Condition[] = []
    let failure: unknown
    for (const target of targets) {
      const columns = byRefers.filter(({ refers }) => refers === undefined || refers === target).map((one) => one.code)
      if (columns.length === 0 || types.code(target) === undefined) continue
      try {
        const found = await inner(target, rest as string, value, asking, depth)
        if (found !== undefined) links.push(chainCondition(named, columns, { type: codeOf(target), ...found }))
      } catch (error) {
        // Of several possible targets only those that know the parameter are meant.
        if (targets.length === 1 || (error as { key?: string }).key !== SearchParameterUnknown.key) throw error
        failure = error
      }
    }
    if (links.length > 0) return links.length === 1 ? (links[0] as Condition) : anyCondition(named, links)
    if (failure !== undefined) throw failure
    if (targets.length === 0) throw SearchChain(short(name), `say which type is meant, as in ${code}:Patient.${rest}`)
    return neverCondition(named)
  }

  /** `_has:Observation:patient:code` */
  const reverse = async (
    type: string,
    name: string,
    value: string,
    asking: Asking,
    depth: number,
  ): Promise<Condition> => {
    const [, source = '', by = '', ...rest] = name.split(':')
    if (rest.length === 0 || types.code(source) === undefined)
      throw SearchChain(short(name), 'it is written _has:Type:reference:parameter')
    const parameter = parameterOf(source, by)
    if (parameter.type !== 'reference') throw SearchChain(short(name), `"${by}" is no reference`)
    const named = {
      text: `${name}=${value}`,
      understood: `referred to by ${parameter.url} of a ${source} with ${rest.join(':')}`,
    }
    const columns = parameter.columns
      .filter(({ refers }) => refers === undefined || refers === type)
      .map((one) => one.code)
    const found = await inner(source, rest.join(':'), value, asking, depth)
    if (columns.length === 0 || found === undefined) return neverCondition(named)
    return hasCondition(named, codeOf(type), columns, found)
  }

  /** Throws 400 for what is not understood. */
  const toCondition = async (
    type: string,
    name: string,
    value: string,
    asking: Asking,
    depth = 0,
  ): Promise<Condition> => {
    if (name.includes('\0') || value.includes('\0'))
      throw SearchValue(short(name.replaceAll('\0', '')), 'free of NUL characters')
    if (name === '_has' || name.startsWith('_has:')) return reverse(type, name, value, asking, depth)
    const read = readName(name)
    if (read.rest !== undefined) return chain(type, name, read, value, asking, depth)
    if (read.code === '_id' || read.code === '_lastUpdated' || read.code === '_list')
      return general(type, name, read, value, asking)
    return simple(type, name, read, value, asking)
  }

  /** In the compartment of a resource; undefined when this type never is. */
  const inCompartment = (
    type: string,
    of: { readonly type: string; readonly id: string },
    baseUrl: string,
  ): Condition | undefined => {
    const named = { text: `compartment ${of.type}/${of.id}`, understood: `in the compartment of ${of.type}/${of.id}` }
    const parts: Condition[] = []
    if (type === of.type) parts.push(idCondition(named, codeOf(type), [of.id]))
    for (const code of registry.compartments[of.type]?.[type] ?? []) {
      const parameter = registry.parameters(type).get(code)
      if (parameter?.type !== 'reference') continue
      const columns = parameter.columns.filter(({ refers }) => refers === undefined || refers === of.type)
      const targets = referenceTargets({ name: code, baseUrl }, `${of.type}/${of.id}`, []).map(registry.hasher.long)
      if (columns.length > 0) parts.push(lookupCondition(named, [referenceLookup(columns, targets)]))
    }
    if (parts.length === 0) return undefined
    return parts.length === 1 ? (parts[0] as Condition) : anyCondition(named, parts)
  }

  return { toCondition, inCompartment, parameterOf, typeCode: codeOf }
}

export type Criteria = ReturnType<typeof createCriteria>
