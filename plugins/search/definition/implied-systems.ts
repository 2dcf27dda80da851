/**
 * Finds the systems of codes that are stored without one. An element of type `code` takes its system from the value
 * set it is bound to, so `gender=http://hl7.org/fhir/administrative-gender|male` can match.
 * https://hl7.org/fhir/R4/search.html#token
 */
import type { Definitions } from '../../packages/service.ts'

const BOOLEAN = ['http://terminology.hl7.org/CodeSystem/special-values', 'http://hl7.org/fhir/special-values']
const MAX_LEVELS = 10 // nested value sets

interface ValueSet {
  readonly compose?: {
    readonly include?: readonly { readonly system?: string; readonly valueSet?: readonly string[] }[]
  }
  readonly expansion?: { readonly contains?: readonly { readonly system?: string }[] }
}

/** Resolves to true when codes of one of the value sets may belong to the system. */
export type ImpliedSystems = (valueSets: readonly string[], system: string) => Promise<boolean>

export const createImpliedSystems = (definitions: Pick<Definitions, 'find'>): ImpliedSystems => {
  const known = new Map<string, Promise<ReadonlySet<string>>>()
  const read = async (canonical: string, level: number): Promise<ReadonlySet<string>> => {
    if (canonical === 'boolean') return new Set(BOOLEAN)
    const [url = '', version] = canonical.split('|')
    const found = (await definitions.find('ValueSet', url, version)) ?? (await definitions.find('ValueSet', url))
    const systems = new Set<string>()
    if (found === undefined || level > MAX_LEVELS) return systems
    const { compose, expansion } = JSON.parse(found.json) as ValueSet
    for (const { system, valueSet = [] } of compose?.include ?? []) {
      if (system !== undefined) systems.add(system)
      for (const one of valueSet) for (const inner of await read(one, level + 1)) systems.add(inner)
    }
    for (const { system } of expansion?.contains ?? []) if (system !== undefined) systems.add(system)
    return systems
  }
  return async (valueSets, system) => {
    for (const one of valueSets) {
      const systems = known.get(one) ?? read(one, 0)
      known.set(one, systems)
      if ((await systems).has(system)) return true
    }
    return false
  }
}
