/** All that is compiled from one set of installed packages, and goes when the set changes. */

import { loadEngine, type StructureDefinition } from '../model/service.ts'
import type { Definitions } from '../packages/service.ts'
import { createProfiles, type Profiles } from './profiles/profiles.ts'
import { createRules } from './rules/rules.ts'
import { createValueSets } from './rules/value-set.ts'
import { createSource, type Source } from './source.ts'
import { createStructureValidator, type StructureValidator } from './structure/validator.ts'

export interface Compiled {
  /** Of the installed packages. */
  readonly fingerprint: string
  readonly source: Source
  /** Structure only. */
  readonly structure: StructureValidator
  /** Structure, invariants and required bindings. */
  readonly rules: StructureValidator
  readonly profiles: Profiles
}

export const compiledFrom = (definitions: Definitions): Compiled => {
  const source = createSource(definitions)
  const structures = {
    definition: (url: string) => source.find('StructureDefinition', url) as StructureDefinition | null | undefined,
  }
  const engine = source.once(loadEngine)
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
