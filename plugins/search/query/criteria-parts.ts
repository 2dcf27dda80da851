/** What criteria are made with. */
import type { TypeCodes } from '../../storage/service.ts'
import type { ImpliedSystems } from '../definition/implied-systems.ts'
import type { FullTextMode } from '../index/full-text/text-index.ts'
import type { Registry } from '../index/registry.ts'
import type { CodeExpander } from './code-expander.ts'
import type { Plan, Planner } from './plan-contract.ts'
import type { ReferenceJoins } from './reference-join.ts'
import type { ValueContext } from './value-context.ts'

export interface CriteriaParts {
  readonly registry: Registry
  readonly planner: Planner
  /** Counts on where a plan has many matches: the same plan, or one whose number of matches is known. */
  readonly measure: (plan: Plan) => Promise<Plan>
  readonly types: TypeCodes
  /** Concrete resource types. */
  readonly typeNames: readonly string[]
  readonly dialect: ValueContext['dialect']
  readonly codeSystemsOf: ValueContext['codeSystemsOf']
  readonly impliedSystemsOf: ImpliedSystems
  readonly fullTextMode: FullTextMode
  readonly referenceJoins: ReferenceJoins
  readonly terminology: CodeExpander | undefined
  /** Asked inside a transaction. */
  readonly isInside: boolean
}
