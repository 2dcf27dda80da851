/** Turns a parameter with its modifier and values into a clause on index rows. */

import type { IndexKind } from '../definition/kind.ts'
import type { Parameter, ParameterColumn } from '../definition/parameter.ts'
import { MODIFIERS } from '../definition/supported.ts'
import { SearchModifierUnknown, SearchUnsupportedParameter } from '../errors.ts'
import { lookupClause, neverClause, notClause, type SearchClause } from './clause.ts'
import type { CriteriaParts } from './criteria-parts.ts'
import { createExpand } from './expand.ts'
import type { IndexLookup } from './index-lookup.ts'
import { compositeLookups } from './lookups/composite.ts'
import { mimeColumns, mimeLookups } from './lookups/mime.ts'
import { nearLookups } from './lookups/near.ts'
import { dateLookup, numberLookup, quantityLookup } from './lookups/ordered.ts'
import { referenceLookups } from './lookups/reference.ts'
import { stringLookups } from './lookups/string.ts'
import { identifierLookups, ofTypeLookups, textLookups, tokenLookups } from './lookups/token.ts'
import { uriLookups } from './lookups/uri.ts'
import { type Name, short } from './parameter-name.ts'
import { presence } from './presence.ts'
import type { SearchContext } from './search-context.ts'
import type { ValueContext } from './value-context.ts'
import { valuesOf } from './values.ts'

const isCanonical = ({ canonical }: ParameterColumn): boolean => canonical === true

/** `parameterOf` throws 400 for an unknown parameter. */
export const createSimpleCriteria = (
  { registry, types, dialect, codeSystemsOf, impliedSystemsOf, terminology, isInside }: CriteriaParts,
  parameterOf: (type: string, code: string) => Parameter,
) => {
  const expand = createExpand(terminology, isInside)

  const lookupsOf = async (
    parameter: Parameter,
    context: ValueContext,
    modifier: string | undefined,
    values: readonly string[],
  ): Promise<readonly IndexLookup[]> => {
    const { name, columns, hasher, now } = context
    const codes = columns.map(({ code }) => code)
    switch (parameter.type) {
      case 'token':
        if (modifier === 'text' || modifier === 'code-text') return textLookups(context, values)
        if (modifier === 'below' && mimeColumns(columns).length > 0) return mimeLookups(context, values)
        if (modifier === 'of-type') return ofTypeLookups(context, values)
        if (modifier === 'in' || modifier === 'not-in' || modifier === 'above' || modifier === 'below')
          return tokenLookups(context, await expand(name, modifier, values, context.expansions))
        return tokenLookups(context, values)
      case 'reference':
        if (modifier === 'identifier') return identifierLookups(context, values)
        if (modifier === 'above' || modifier === 'below')
          return uriLookups({ ...context, columns: columns.filter(isCanonical) }, values, modifier)
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
        return compositeLookups(context, parameter.components as readonly IndexKind[], values)
      case 'special':
        return nearLookups(context, values)
      default:
        throw SearchUnsupportedParameter(name, 'it is no index of values')
    }
  }

  const checkModifier = (name: string, { type, columns }: Parameter, modifier: string | undefined): void => {
    if (modifier === undefined) return
    // Among references, only canonicals have a hierarchy for `:above` and `:below`.
    const isPlain = type === 'reference' && !columns.some(isCanonical)
    const known = (MODIFIERS[type] ?? []).filter((one) => !(isPlain && (one === 'above' || one === 'below')))
    if (known.includes(modifier)) return
    if (known.includes('[type]') && types.code(modifier) !== undefined) return
    throw SearchModifierUnknown(
      short(modifier),
      type,
      short(name),
      known.map((one) => (one === '[type]' ? 'the name of a type' : `:${one}`)).join(', '),
    )
  }

  const contextOf = (
    name: string,
    { columns }: Parameter,
    { ownUrl, now, expansions }: SearchContext,
  ): ValueContext => ({
    name: short(name),
    hasher: registry.hasher,
    columns,
    dialect,
    ownUrl,
    now,
    codeSystemsOf,
    impliedSystemsOf,
    expansions,
  })

  return {
    context: contextOf,
    lookups: lookupsOf,
    async condition(
      type: string,
      name: string,
      { code, modifier }: Name,
      value: string,
      context: SearchContext,
    ): Promise<SearchClause> {
      const parameter = parameterOf(type, code)
      checkModifier(name, parameter, modifier)
      if (modifier === 'missing') return presence(types.code(type) ?? 0, name, parameter, value)
      const lookups = await lookupsOf(parameter, contextOf(name, parameter, context), modifier, valuesOf(name, value))
      const negated = modifier === 'not' || modifier === 'not-in'
      const named = {
        text: `${name}=${value}`,
        description: `${parameter.type} ${parameter.url}${modifier === undefined ? '' : ` :${modifier}`}: ${negated ? 'none' : 'any'} of ${value}`,
      }
      const clause = lookups.length === 0 ? neverClause(named) : lookupClause(named, lookups)
      return negated ? notClause(named, clause) : clause
    },
  }
}

export type SimpleCriteria = ReturnType<typeof createSimpleCriteria>
