/** Restricts each interaction to what the scopes of the token grant, in the hook `authorize`. */
import { LRUCache } from 'lru-cache'
import type { Caller, Hooks, Interaction, Restriction } from '../../../kernel/index.ts'
import type { Model } from '../../model/service.ts'
import { CHALLENGE } from './challenge.ts'
import { InsufficientScope } from './errors.ts'
import { parseScope } from './parse-scope.ts'
import { scopeRestriction } from './scope-restriction.ts'

const NO_SCOPES: readonly string[] = Object.freeze([])
const MAX_KEPT = 10_000 // restrictions in the cache

/** True for /metadata and the OAuth endpoints, which need no access token. */
const isOpen = ({ kind }: Interaction): boolean => kind === 'capabilities' || kind === 'auth'

const isEmpty = ({ types, others }: Restriction): boolean => others.length === 0 && Object.keys(types).length === 0

/** True for callers with the same list of scopes to whom the same restriction applies. */
const isAlike = (one: Caller, other: Caller): boolean =>
  one === other ||
  (one.kind === other.kind &&
    one.user === other.user &&
    one.launch?.patient === other.launch?.patient &&
    one.relatedTo === other.relatedTo)

/** Cache key of a restriction: all that it depends on. */
const keyOf = ({ kind, user, launch, relatedTo, scopes = [] }: Caller): string =>
  [kind, user, launch?.patient, relatedTo, ...scopes].join('\n')

export const authorizeByScopes = ({ authorize }: Pick<Hooks, 'authorize'>, model: Pick<Model, 'catalog'>): void => {
  // Callers with the same scopes and patient share one restriction, so that what was compiled for it is reused.
  const kept = new LRUCache<string, Restriction>({ max: MAX_KEPT })
  // The tokens of a service have different callers with the same list, those of one person the same caller.
  const byScopes = new WeakMap<readonly string[], { readonly caller: Caller; readonly restriction: Restriction }>()
  const byCaller = new WeakMap<Caller, Restriction>()

  const find = (caller: Caller): Restriction => {
    const key = keyOf(caller)
    const found = kept.get(key)
    if (found !== undefined) return found
    const scopes = (caller.scopes ?? []).flatMap((text) => parseScope(text) ?? [])
    const made = scopeRestriction(
      scopes.filter((one) => one.kind === 'resource'),
      caller,
      (type) => model.catalog.types.has(type),
    )
    kept.set(key, made)
    return made
  }
  const restrictionFor = (caller: Caller): Restriction => {
    const { scopes = NO_SCOPES } = caller
    const last = byScopes.get(scopes)
    if (last !== undefined && isAlike(last.caller, caller)) return last.restriction
    const known = byCaller.get(caller)
    if (known !== undefined) return known
    const restriction = find(caller)
    if (last === undefined) byScopes.set(scopes, { caller, restriction })
    else byCaller.set(caller, restriction)
    return restriction
  }
  const refusal = () => InsufficientScope().with({ headers: { 'www-authenticate': CHALLENGE } })

  authorize.tap('scopes', ({ caller }, interaction, ruling) => {
    if (caller.kind === 'internal' || isOpen(interaction)) return
    // A caller without scopes may do nothing.
    if (caller.scopes === undefined) ruling.refuse(refusal())
    // Admin interactions show the activity of all callers, so only a client that acts for itself may perform them.
    // Spec: Authentication 2.
    if (interaction.kind === 'admin' && caller.kind !== 'client') ruling.refuse(refusal())
    const restriction = restrictionFor(caller)
    if (interaction.kind === 'operation' && interaction.type === undefined && isEmpty(restriction))
      ruling.refuse(refusal())
    ruling.restrict(restriction)
  })
}
