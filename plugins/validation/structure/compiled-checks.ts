/** The checks of types, each of which is made from its definition at the first use. */
import { type DefinitionSource, type StructureDefinition, typeUrl } from '../../model/service.ts'
import type { GeneratedCheck } from './generated-check.ts'

export interface CompiledChecks {
  /** The check of a type, or of a profile on it. Undefined if a definition is not installed or not loaded yet. */
  link(url: string, profile?: string): GeneratedCheck | undefined
  /** The check of a resource type. Undefined if the type is not known or not loaded yet. */
  resource(type: string): GeneratedCheck | undefined
  /** Whether the check of this resource type has been made. */
  hasResource(type: string): boolean
  /** Canonical URLs of the definitions that are compiled so far. */
  types(): readonly string[]
}

/** `make` returns undefined if the rules of the type need a definition that is not loaded yet. */
export const createCompiledChecks = (
  source: DefinitionSource,
  make: (definition: StructureDefinition) => GeneratedCheck | undefined,
): CompiledChecks => {
  const compiled = new Map<string, GeneratedCheck>()
  const resources = new Map<string, GeneratedCheck>()

  const compile = (definition: StructureDefinition): GeneratedCheck | undefined => {
    const known = compiled.get(definition.url)
    if (known !== undefined) return known
    const check = make(definition)
    if (check !== undefined) compiled.set(definition.url, check)
    return check
  }

  const link = (url: string, profile?: string): GeneratedCheck | undefined => {
    const known = compiled.get(profile ?? url)
    if (known !== undefined) return known
    // A profile on a data type narrows its structure. If the profile is not installed, the type itself is checked.
    const narrow = profile === undefined ? undefined : source.definition(profile)
    if (narrow === null) return undefined
    if (narrow?.kind === 'complex-type' && narrow.snapshot !== undefined) return compile(narrow)
    const definition = source.definition(url)
    return definition?.snapshot === undefined ? undefined : compile(definition)
  }

  const resource = (type: string): GeneratedCheck | undefined => {
    const known = resources.get(type)
    if (known !== undefined) return known
    if (!/^[A-Z][A-Za-z]{0,63}$/.test(type)) return undefined
    const definition = source.definition(typeUrl(type))
    if (definition?.snapshot === undefined) return undefined
    if (definition.kind !== 'resource' || definition.abstract || definition.type !== type) return undefined
    const check = compile(definition)
    if (check !== undefined) resources.set(type, check)
    return check
  }

  return { link, resource, hasResource: (type) => resources.has(type), types: () => [...compiled.keys()] }
}
