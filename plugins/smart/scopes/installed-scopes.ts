/**
 * Drops scopes whose type or search parameters are not installed, so that the meaning of each condition is known when
 * it is granted.
 */
import { isServerError } from '../../../kernel/index.ts'
import type { Resources } from '../../fhir/service.ts'
import type { Model } from '../../model/service.ts'
import { COMMON_PARAMETERS, parseScope } from './parse-scope.ts'
import type { ResourceScope, Scope } from './scope.ts'

export interface InstalledScopesParts {
  readonly model: Pick<Model, 'catalog'>
  readonly resources: () => Resources
}

const MAX_SCOPES = 1_000 // of one list, after it was narrowed to what the client is registered for
const MAX_CONDITIONS = 50 // of one list: each is compiled, and anybody may ask for them without logging in

/**
 * The list without scopes of types that are not installed, and without scopes whose conditions cannot be decided on the
 * resource alone: unknown parameters, malformed values, dates relative to now. Rejects with 503 while one of the
 * parameters is being indexed. Empty for a list of more than 1,000 scopes, or of more than 50 conditions.
 */
export type InstalledScopes = (granted: string) => Promise<string>

/**
 * The types for which the conditions must be valid: for `*` every type. A common parameter is the same for all of them,
 * so one type suffices.
 */
const typesToCheck = ({ type, conditions }: ResourceScope, all: readonly string[]): readonly string[] => {
  if (type !== '*') return [type]
  const isCommon = conditions.every((condition) => COMMON_PARAMETERS.has(condition.slice(0, condition.indexOf('='))))
  return isCommon ? all.slice(0, 1) : all
}

export const createInstalledScopes = ({ model, resources }: InstalledScopesParts): InstalledScopes => {
  const isDecidable = async (type: string, query: string): Promise<boolean> => {
    try {
      return (await resources().as({ kind: 'internal', purpose: 'scopes' }).matches(type, query)) !== null
    } catch (error) {
      if (isServerError(error) && error.status < 500) return false
      throw error
    }
  }
  const isInstalled = async (scope: Scope): Promise<boolean> => {
    if (scope.kind !== 'resource') return true
    const { types } = model.catalog
    if (scope.type !== '*' && !types.has(scope.type)) return false
    if (scope.conditions.length === 0) return true
    const query = scope.conditions.join('&')
    for (const type of typesToCheck(scope, [...types.keys()])) if (!(await isDecidable(type, query))) return false
    return true
  }
  return async (granted) => {
    const texts = granted.split(' ').filter((text) => text !== '')
    if (texts.length > MAX_SCOPES) return ''
    const scopes = texts.flatMap((text) => parseScope(text) ?? [])
    const conditions = scopes.flatMap((scope) => (scope.kind === 'resource' ? scope.conditions : []))
    if (conditions.length > MAX_CONDITIONS) return ''
    const kept: string[] = []
    for (const scope of scopes) if (await isInstalled(scope)) kept.push(scope.text)
    return kept.join(' ')
  }
}
