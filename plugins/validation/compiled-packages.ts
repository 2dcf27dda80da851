/** Everything that is compiled from one set of installed packages. It is discarded when the set changes. */

import { loadInterpreter, type StructureDefinition } from '../model/service.ts'
import type { Definitions } from '../packages/service.ts'
import { createDefinitionLoader, type DefinitionLoader } from './definition-loader.ts'
import { createProfiles, type Profiles } from './profiles/profiles.ts'
import { createRules } from './rules/rules.ts'
import { createValueSets } from './rules/value-set.ts'
import { createStructureValidator, type StructureValidator } from './structure/validator.ts'

export interface CompiledPackages {
  /** Identifies the set of installed packages. */
  readonly fingerprint: string
  readonly source: DefinitionLoader
  /** Checks the structure only. */
  readonly structure: StructureValidator
  /** Checks the structure, invariants and required bindings. */
  readonly rules: StructureValidator
  readonly profiles: Profiles
}

export const compiledFrom = (definitions: Definitions): CompiledPackages => {
  const source = createDefinitionLoader(definitions)
  const structures = {
    definition: (url: string) => source.find('StructureDefinition', url) as StructureDefinition | null | undefined,
  }
  const engine = source.loadOnce(loadInterpreter)
  const codes = createValueSets(source.find)
  const rules = createStructureValidator(structures, createRules({ engine, codes }))
  return {
    fingerprint: definitions.fingerprint,
    source,
    structure: createStructureValidator(structures),
    rules,
    profiles: createProfiles({ find: source.find, shape: rules.shape, codes, engine }),
  }
}
