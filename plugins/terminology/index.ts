/** Terminology: value sets and code systems of the packages, and those that users store. */
import { definePlugin } from '../../kernel/index.ts'
import { Fhir, Resources } from '../fhir/service.ts'
import { Definitions } from '../packages/service.ts'
import * as errors from './errors.ts'
import { createDefinitionFinder } from './find.ts'
import { terminologyOperations } from './operations/operations.ts'
import { Terminology } from './service.ts'
import { createFindStored } from './stored-canonicals.ts'
import { createTerminology } from './terminology.ts'

const OURS = new Set(['ValueSet', 'CodeSystem'])

export default definePlugin({
  name: 'terminology',
  description: 'Expands value sets and follows the hierarchies of code systems',
  needs: { definitions: Definitions, fhir: Fhir },
  provides: [Terminology],
  errors,
  setup({ hooks, needs: { definitions, fhir }, provide, later, clock }) {
    const terminology = createTerminology(
      createDefinitionFinder(definitions, createFindStored(later(Resources)), clock),
      clock,
    )
    provide(Terminology, terminology)
    for (const operation of terminologyOperations(terminology, clock)) fhir.operation(operation)
    hooks.onCommit.tap('forget expansions', ({ changes }) => {
      if (changes.some(({ next }) => OURS.has(next.type))) terminology.forget()
    })
  },
})
