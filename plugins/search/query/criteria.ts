/**
 * Turns the name and value of one search parameter into a clause. An unknown parameter is refused with an error that
 * names it; none is ignored. https://hl7.org/fhir/R4/search.html
 */

import type { OwnUrl } from '../../../kernel/index.ts'
import type { Parameter } from '../definition/parameter.ts'
import { COMMON_PARAMETERS, UNSUPPORTED } from '../definition/supported.ts'
import { SearchModifierUnknown, SearchParameterUnknown, SearchUnsupportedParameter, SearchValue } from '../errors.ts'
import { refuseIndexing } from '../index/indexing-refusal.ts'
import { createChainCriteria, type ToClause } from './chain-criteria.ts'
import { anyClause, idClause, lookupClause, type SearchClause } from './clause.ts'
import type { CriteriaParts } from './criteria-parts.ts'
import { createFilterCriteria } from './filter/compile-filter.ts'
import { createGeneralCriteria } from './general-criteria.ts'
import { referenceLookup, referenceTargets } from './lookups/reference.ts'
import { type Name, readName, short } from './parameter-name.ts'
import type { SearchContext } from './search-context.ts'
import { createSimpleCriteria } from './simple-criteria.ts'
import { createTextCriteria } from './text-query.ts'

export const createCriteria = (parts: CriteriaParts) => {
  const { registry, types, typeNames } = parts
  const codeOf = (type: string): number => types.code(type) ?? 0

  const parameterOf = (type: string, code: string): Parameter => {
    const unsupported = Object.hasOwn(UNSUPPORTED, code) ? UNSUPPORTED[code] : undefined
    if (unsupported !== undefined) throw SearchUnsupportedParameter(code, unsupported)
    const found = registry.parameters(type).get(code)
    if (found === undefined) {
      const known = [...registry.parameters(type).keys(), ...COMMON_PARAMETERS].sort().join(', ')
      throw SearchParameterUnknown(short(code), type, known)
    }
    return complete(found)
  }
  /** Throws 503 while a column of the parameter is incomplete: a search would miss resources. */
  const complete = (parameter: Parameter): Parameter => {
    const { indexing, code } = parameter
    if (indexing === undefined) return parameter
    throw refuseIndexing(code, indexing)
  }

  /** Throws 400 for a parameter, modifier or value that is not supported. */
  const toClause: ToClause = async (type, name, value, context, depth = 0) => {
    if (name.includes('\0') || value.includes('\0'))
      throw SearchValue(short(name.replaceAll('\0', '')), 'free of NUL characters')
    if (name === '_has' || name.startsWith('_has:')) return linked.reverse(type, name, value, context, depth)
    const read = readName(name)
    if (read.rest !== undefined) return linked.chain(type, name, read, value, context, depth)
    if (read.code === '_list') return inList(type, read, value, context, depth)
    if (read.code === '_id' || read.code === '_lastUpdated') return general(type, name, read, value, context.now)
    if (read.code === '_text' || read.code === '_content') {
      if (read.modifier !== undefined) throw SearchModifierUnknown(short(read.modifier), 'general', read.code, 'none')
      return words(codeOf(type), read.code, value)
    }
    if (read.code === '_filter') return filter(type, read, value, context, depth)
    return simple.condition(type, name, read, value, context)
  }

  /** Matches members of the Lists that the caller may see: the same as `_has:List:item:_id`. */
  const inList = (type: string, { modifier }: Name, value: string, context: SearchContext, depth: number) => {
    if (modifier !== undefined) throw SearchModifierUnknown(short(modifier), 'general', '_list', 'none')
    if (value.startsWith('$'))
      throw SearchValue('_list', 'the id of a List; functional lists such as $current-allergies are not kept here')
    return linked.reverse(type, '_has:List:item:_id', value, context, depth)
  }

  const simple = createSimpleCriteria(parts, parameterOf)
  const general = createGeneralCriteria(codeOf, registry.hasher.long)
  const words = createTextCriteria(parts.dialect, parts.fullText)
  const linked = createChainCriteria(parts, parameterOf, toClause)
  const filterOf = createFilterCriteria({
    parameterOf,
    simple,
    general: (type, code, value, context) =>
      general(type, code, { code, modifier: undefined, rest: undefined }, value, context.now),
    follow: linked.follow,
  })
  const filter = (type: string, { modifier }: Name, text: string, context: SearchContext, depth: number) => {
    if (modifier !== undefined) throw SearchModifierUnknown(short(modifier), 'general', '_filter', 'none')
    return filterOf(type, text, context, depth)
  }

  /** Matches resources in the compartment of `of`. Undefined when resources of this type are never in it. */
  const inCompartment = (
    type: string,
    of: { readonly type: string; readonly id: string },
    ownUrl: OwnUrl | undefined,
  ): SearchClause | undefined => {
    const named = { text: `compartment ${of.type}/${of.id}`, description: `in the compartment of ${of.type}/${of.id}` }
    const parts: SearchClause[] = []
    if (type === of.type) parts.push(idClause(named, codeOf(type), [of.id], registry.hasher.long))
    for (const code of registry.compartments[of.type]?.[type] ?? []) {
      const parameter = registry.parameters(type).get(code)
      if (parameter?.type !== 'reference') continue
      complete(parameter)
      const columns = parameter.columns.filter(({ refers }) => refers === undefined || refers === of.type)
      const targets = referenceTargets({ name: code, ownUrl }, `${of.type}/${of.id}`, []).map(registry.hasher.long)
      if (columns.length > 0) parts.push(lookupClause(named, [referenceLookup(columns, targets)]))
    }
    if (parts.length === 0) return undefined
    return parts.length === 1 ? (parts[0] as SearchClause) : anyClause(named, parts)
  }

  return { toClause, inCompartment, parameterOf, complete, types: typeNames, typeCode: codeOf, registry }
}

export type Criteria = ReturnType<typeof createCriteria>
