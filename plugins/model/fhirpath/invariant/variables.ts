import type { CompiledExpression } from './code.ts'

/** The variables of expressions, such as %resource, by name. `typeName`: the type that defines the invariant. */
export const createVariables = (
  typeName: string,
  isResource: boolean,
): Readonly<Record<string, (start: CompiledExpression) => CompiledExpression>> => ({
  resource: () => ({
    run: (scope) => [scope.resource],
    kinds: isResource
      ? [{ kind: 'complex', name: `http://hl7.org/fhir/StructureDefinition/${typeName}` }]
      : [{ kind: 'resource', name: 'Resource' }],
  }),
  rootResource: () => ({ run: (scope) => [scope.root], kinds: [{ kind: 'resource', name: 'Resource' }] }),
  context: (start) => ({ run: (scope) => [scope.context], kinds: start.kinds }),
  ucum: () => ({ run: () => ['http://unitsofmeasure.org'], kinds: [{ kind: 'primitive', name: 'string' }] }),
  sct: () => ({ run: () => ['http://snomed.info/sct'], kinds: [{ kind: 'primitive', name: 'string' }] }),
  loinc: () => ({ run: () => ['http://loinc.org'], kinds: [{ kind: 'primitive', name: 'string' }] }),
})
