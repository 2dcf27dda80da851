/**
 * The parameter tx-resource: CodeSystems, ValueSets, supplements and ConceptMaps of a request, which an operation uses as
 * if this server had them. https://build.fhir.org/ig/HL7/fhir-tx-ecosystem-ig/ecosystem.html
 */
import type { AnsweringOperation, Invocation, OperationParameter } from '../../fhir/service.ts'
import { InputValue } from '../errors.ts'
import type { Json } from '../expansion-contract.ts'
import { inSlices } from '../in-slices.ts'
import { structureFault } from '../structure-fault.ts'

const NAME = 'tx-resource'
const TYPES: ReadonlySet<unknown> = new Set(['CodeSystem', 'ValueSet', 'ConceptMap'])
const SHOWN = 100 // characters of what was sent

const PARAMETER: OperationParameter = {
  name: NAME,
  type: 'Resource',
  max: '*',
  documentation: 'A CodeSystem, ValueSet or ConceptMap to use as if this server had it, before its own.',
}

const resourcesIn = ({ inputs }: Invocation, operation: string): readonly Json[] => {
  const given = inputs.all<Json>(NAME)
  for (const { resourceType, url } of given) {
    if (!TYPES.has(resourceType))
      throw InputValue(
        operation,
        NAME,
        String(resourceType).slice(0, SHOWN),
        'send a CodeSystem, ValueSet or ConceptMap',
      )
    if (typeof url !== 'string' || url === '')
      throw InputValue(operation, NAME, `a ${resourceType} without url`, 'it is found by its url')
  }
  return given
}

/** Resources of a request were not validated. Throws 400 for one of which no answer can be made. */
const refuseMalformed = async ({ inputs }: Invocation, { code, parameters }: AnsweringOperation): Promise<void> => {
  for (const { name, type } of [...parameters, PARAMETER]) {
    if (name !== NAME && !TYPES.has(type)) continue
    for (const resource of inputs.all<Json>(name)) {
      const fault = await inSlices(structureFault(resource))
      if (fault !== undefined) throw InputValue(code, name, `a ${String(resource.resourceType).slice(0, SHOWN)}`, fault)
    }
  }
}

/** `make` makes the operation on the definitions of the server, or on those of a request beside them. */
export const withRequestResources = <T>(
  own: T,
  beside: (resources: readonly Json[]) => T,
  make: (definitions: T) => AnsweringOperation,
): AnsweringOperation => {
  const usual = make(own)
  return {
    ...usual,
    parameters: [...usual.parameters, PARAMETER],
    async answer(invocation) {
      const resources = resourcesIn(invocation, usual.code)
      await refuseMalformed(invocation, usual)
      return (resources.length === 0 ? usual : make(beside(resources))).answer(invocation)
    },
  }
}
