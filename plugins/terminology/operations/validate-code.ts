/**
 * $validate-code: is a code in a value set, or in a code system? https://hl7.org/fhir/R4/valueset-operation-validate-code.html,
 * https://hl7.org/fhir/R4/codesystem-operation-validate-code.html
 */
import type { Operation, OperationAnswer } from '../../fhir/service.ts'
import { InputMissing } from '../errors.ts'
import { keyOf } from '../expansion.ts'
import type { Expanding } from '../terminology.ts'
import { CODE_PARAMETERS, type Coding, codingsOf, systemOf, toParameters, valueSetOf, wholeSystem } from './asked.ts'

const CONCEPT = {
  name: 'codeableConcept',
  type: 'CodeableConcept',
  documentation: 'One of its codings has to be there.',
}

/** `known` is what a coding was found as, undefined where it was not. */
const toAnswer = (
  where: string,
  found: readonly { readonly coding: Coding; readonly display: string | undefined; readonly isIn: boolean }[],
): OperationAnswer => {
  const hit = found.find(({ isIn }) => isIn)
  const wrong =
    hit?.coding.display !== undefined &&
    hit.display !== undefined &&
    hit.coding.display.toLowerCase() !== hit.display.toLowerCase()
  const names = found.map(({ coding: { system = '', code = '' } }) => `${system}|${code}`).join(', ')
  const message =
    hit === undefined
      ? `${names} is not in ${where}.`
      : wrong
        ? `The display of ${hit.coding.code} is "${hit.display}".`
        : undefined
  return {
    resource: toParameters([
      { name: 'result', valueBoolean: hit !== undefined && !wrong },
      message === undefined ? undefined : { name: 'message', valueString: message },
      hit?.display === undefined ? undefined : { name: 'display', valueString: hit.display },
    ]),
  }
}

export const validateInValueSet = (terminology: Expanding): Operation => ({
  code: 'validate-code',
  definition: 'http://hl7.org/fhir/OperationDefinition/ValueSet-validate-code',
  documentation: 'Whether a code is in a value set.',
  levels: ['type', 'instance'],
  types: ['ValueSet'],
  parameters: [
    { name: 'url', type: 'uri', documentation: 'Canonical URL of the value set.' },
    { name: 'valueSetVersion', type: 'string', documentation: 'Its version.' },
    { name: 'valueSet', type: 'ValueSet', documentation: 'The value set itself.' },
    ...CODE_PARAMETERS.filter(({ name }) => name !== 'version'),
    CONCEPT,
  ],
  async answer(invocation) {
    const codings = codingsOf(invocation, 'validate-code')
    const { name, expansion } = await valueSetOf(terminology, invocation, 'validate-code')
    return toAnswer(
      `the value set ${name}`,
      codings.map((coding) => {
        const { system, code = '' } = coding
        // A code without a system may be of any, when that is clear.
        const hit =
          system === undefined
            ? [...expansion.values()].find((one) => one.code === code)
            : expansion.get(keyOf(system, code))
        return { coding, display: hit?.display, isIn: hit !== undefined }
      }),
    )
  },
})

export const validateInCodeSystem = (terminology: Expanding): Operation => ({
  code: 'validate-code',
  definition: 'http://hl7.org/fhir/OperationDefinition/CodeSystem-validate-code',
  documentation: 'Whether a code is in a code system.',
  levels: ['type', 'instance'],
  types: ['CodeSystem'],
  parameters: [
    { name: 'url', type: 'uri', documentation: 'Canonical URL of the code system.' },
    ...CODE_PARAMETERS.filter(({ name }) => name !== 'system'),
    CONCEPT,
  ],
  async answer(invocation) {
    const own = await systemOf(invocation, 'url')
    const codings = codingsOf(invocation, 'validate-code', own)
    const system = own ?? codings[0]?.system
    if (system === undefined) throw InputMissing('validate-code', 'the url of a code system')
    const { concepts } = await wholeSystem(terminology, system, invocation.inputs.get('version'))
    return toAnswer(
      `the code system ${system}`,
      codings.map((coding) => {
        const hit = coding.system === system ? concepts.get(coding.code as string) : undefined
        return { coding, display: hit?.display, isIn: hit !== undefined }
      }),
    )
  },
})
