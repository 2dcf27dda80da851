/** What makes the clauses of a search. */
import type { TypeCodes } from '../../storage/service.ts'
import type { ImpliedSystems } from '../definition/implied-systems.ts'
import type { FullTextIndex } from '../index/full-text/text-index.ts'
import type { Registry } from '../index/registry.ts'
import type { CodeExpander } from './code-expander.ts'
import type { Plan, Planner } from './plan-contract.ts'
import type { ReferenceJoins } from './reference-join.ts'
import type { ValueContext } from './value-context.ts'

export interface CriteriaParts {
  readonly registry: Registry
  readonly planner: Planner
  /**
   * For a plan with many matches: counts further in the background. Resolves to the same plan, or to one with a known
   * number of matches.
   */
  readonly measure: (plan: Plan) => Promise<Plan>
  readonly types: TypeCodes
  /** Concrete resource types. */
  readonly typeNames: readonly string[]
  readonly dialect: ValueContext['dialect']
  readonly codeSystemsOf: ValueContext['codeSystemsOf']
  readonly impliedSystemsOf: ImpliedSystems
  readonly fullText: Pick<FullTextIndex, 'mode' | 'isComplete'>
  readonly referenceJoins: ReferenceJoins
  readonly terminology: CodeExpander | undefined
  /** True inside a transaction. */
  readonly isInside: boolean
}
