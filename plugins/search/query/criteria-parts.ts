/** What criteria are made with. */
import type { TypeCodes } from '../../storage/service.ts'
import type { ImpliedSystems } from '../definition/implied-systems.ts'
import type { WordMode } from '../index/full-text/text-index.ts'
import type { Registry } from '../index/registry.ts'
import type { CodeExpander } from './code-expander.ts'
import type { Planner } from './plan-contract.ts'
import type { Links } from './reference-join.ts'
import type { ValueContext } from './value-context.ts'

export interface CriteriaParts {
  readonly registry: Registry
  readonly planner: Planner
  readonly types: TypeCodes
  /** Concrete resource types. */
  readonly typeNames: readonly string[]
  readonly dialect: ValueContext['dialect']
  readonly systemsOf: ValueContext['systemsOf']
  readonly implies: ImpliedSystems
  readonly wordMode: WordMode
  readonly links: Links
  readonly terminology: CodeExpander | undefined
  /** Asked inside a transaction. */
  readonly isInside: boolean
}
