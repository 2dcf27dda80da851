/**
 * Checks the names in the restrictions of a ruling. A misspelt type would be dangerous: the real type would then fall
 * under `others`, which may be unrestricted. Called after the taps of `authorize`, once for each restriction.
 */
import { type Hooks, type Restriction, RestrictionMalformed } from '../../../kernel/index.ts'
import type { TypeCatalog } from '../../model/service.ts'
import type { Registry } from '../index/registry.ts'

/** The type that admin endpoints are authorized as, even where no package defines it. */
const ALWAYS_KNOWN = 'AuditEvent'

/** The names that exist. */
interface Known {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly search: { readonly registry: Pick<Registry, 'compartments'> }
}

const faultOf = ({ types, others }: Restriction, { catalog, search }: Known): string | undefined => {
  const unknown = Object.keys(types).find((type) => type !== ALWAYS_KNOWN && !catalog.types.has(type))
  if (unknown !== undefined) return `types names "${unknown}", which is no resource type of the installed packages`
  const { compartments } = search.registry
  for (const { compartment } of [others, ...Object.values(types)].flat())
    if (compartment !== undefined && !Object.hasOwn(compartments, compartment.type))
      return `a grant names the compartment type "${compartment.type}", for which no CompartmentDefinition is installed`
  return undefined
}

/** The check throws 500, with the reason in the log only, and 503 until the packages are loaded. */
export const createNameCheck = (server: () => Known): ((restrictions: readonly Restriction[]) => void) => {
  const checked = new WeakSet<Restriction>()
  return (restrictions) => {
    for (const restriction of restrictions) {
      if (checked.has(restriction)) continue
      const fault = faultOf(restriction, server())
      if (fault !== undefined) throw RestrictionMalformed().with({ detail: fault })
      checked.add(restriction)
    }
  }
}

/** Adds the check as the last tap of `authorize`. */
export const tapNames = ({ authorize }: Pick<Hooks, 'authorize'>, server: () => Known): void => {
  const check = createNameCheck(server)
  const last = { name: 'names of restrictions', stage: Number.MAX_SAFE_INTEGER, isCheck: true }
  authorize.tap(last, (_request, _interaction, { restrictions }) => check(restrictions))
}
