/**
 * Drops scopes whose type or search parameters are not installed, so that the meaning of each condition is known when
 * it is granted.
 */
import { isServerError } from '../../../kernel/index.ts'
import type { Resources } from '../../fhir/service.ts'
import type { Model } from '../../model/service.ts'
import { parseScope } from './parse-scope.ts'

export interface InstalledScopesParts {
  readonly model: Pick<Model, 'catalog'>
  readonly resources: () => Resources
}

/**
 * The list without scopes of types that are not installed, and without scopes whose conditions cannot be decided on the
 * resource alone: unknown parameters, malformed values, dates relative to now. Rejects with 503 while one of the
 * parameters is being indexed.
 */
export type InstalledScopes = (granted: string) => Promise<string>

export const createInstalledScopes = ({ model, resources }: InstalledScopesParts): InstalledScopes => {
  const isDecidable = async (type: string, query: string): Promise<boolean> => {
    try {
      return (await resources().as({ kind: 'internal', purpose: 'scopes' }).matches(type, query)) !== null
    } catch (error) {
      if (isServerError(error) && error.status < 500) return false
      throw error
    }
  }
  const isInstalled = async (text: string): Promise<boolean> => {
    const scope = parseScope(text)
    if (scope?.kind !== 'resource') return scope !== undefined
    const { types } = model.catalog
    if (scope.type !== '*' && !types.has(scope.type)) return false
    if (scope.conditions.length === 0) return true
    const query = scope.conditions.join('&')
    // A condition on `*` must be valid for every type.
    for (const type of scope.type === '*' ? types.keys() : [scope.type])
      if (!(await isDecidable(type, query))) return false
    return true
  }
  return async (granted) => {
    const kept: string[] = []
    for (const text of granted.split(' ')) if (text !== '' && (await isInstalled(text))) kept.push(text)
    return kept.join(' ')
  }
}
