/**
 * Search parameters of packages that cannot be indexed, with the reason. Logged when a set of packages is first
 * compiled.
 */

import { ABSTRACT_TYPES, SPECIAL } from './compile-parameter.ts'
import type { SearchDefinitions, SearchParameterResource } from './stored-definitions.ts'
import { UNSUPPORTED } from './supported.ts'

export interface Unindexed {
  readonly url: string
  readonly reason: string
}

const MAX_CHARS = 300

const unindexedReason = (
  { type, base = [], expression, component = [] }: SearchParameterResource,
  known: ReadonlySet<string>,
): string => {
  const bases = base.filter((one) => ABSTRACT_TYPES.has(one) || known.has(one))
  if (base.length === 0) return 'it has no base'
  if (bases.length === 0) return `no resource type of the installed packages is called ${base.join(' or ')}`
  if (expression === undefined) return 'it has no expression'
  const shown = expression.slice(0, MAX_CHARS)
  if (type === 'composite')
    return component.length < 2
      ? 'a composite needs two components'
      : `a component selects nothing its type can index, or the first one is no token and no reference: ${shown}`
  return `its expression selects nothing in ${bases.join(', ')} that a parameter of type ${type} can index: ${shown}`
}

export const unindexed = (
  parameters: readonly SearchParameterResource[],
  model: Pick<SearchDefinitions, 'parameters'>,
  types: readonly string[],
): readonly Unindexed[] => {
  const known = new Set(types)
  const asked = new Set(model.parameters.map(({ base, code }) => `${base} ${code}`))
  const isAsked = ({ base = [], code }: SearchParameterResource): boolean =>
    base.some((one) => (ABSTRACT_TYPES.has(one) ? types : [one]).some((type) => asked.has(`${type} ${code}`)))
  return parameters
    .filter((one) => !SPECIAL.has(one.code) && !Object.hasOwn(UNSUPPORTED, one.code) && !isAsked(one))
    .map((one) => ({ url: one.url, reason: unindexedReason(one, known) }))
}
