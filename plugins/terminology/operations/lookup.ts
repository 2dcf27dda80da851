/** $lookup: what a code system says of a code. https://hl7.org/fhir/R4/codesystem-operation-lookup.html */
import type { Operation } from '../../fhir/service.ts'
import type { Concept } from '../code-system.ts'
import { CodeUnknown, InputMissing } from '../errors.ts'
import type { Expanding } from '../terminology.ts'
import { CODE_PARAMETERS, codingsOf, systemOf, toParameters, wholeSystem } from './asked.ts'

const propertiesOf = ({
  properties,
  parents,
  children,
  definition,
}: Concept): readonly (readonly [string, object])[] => [
  ...[...properties].flatMap(([code, values]) => values.map((value) => [code, { valueString: value }] as const)),
  ...[...parents].map(({ code }) => ['parent', { valueCode: code }] as const),
  ...[...children].map(({ code }) => ['child', { valueCode: code }] as const),
  ...(definition === undefined ? [] : [['definition', { valueString: definition }] as const]),
]

export const lookupOperation = (terminology: Expanding): Operation => ({
  code: 'lookup',
  definition: 'http://hl7.org/fhir/OperationDefinition/CodeSystem-lookup',
  documentation: 'What a code system says of a code.',
  levels: ['type'],
  types: ['CodeSystem'],
  parameters: [
    ...CODE_PARAMETERS.filter(({ name }) => name !== 'display'),
    { name: 'property', type: 'code', max: '*', documentation: 'Which properties to give; all when left out.' },
  ],
  async answer(invocation) {
    const system = await systemOf(invocation, 'system')
    if (system === undefined) throw InputMissing('lookup', 'the system of the code')
    const [coding] = codingsOf(invocation, 'lookup', system)
    const code = coding?.code as string
    const { name, version, concepts } = await wholeSystem(terminology, system, invocation.inputs.get('version'))
    const concept = concepts.get(code)
    if (concept === undefined) throw CodeUnknown(system.slice(0, 200), code.slice(0, 100))
    const wanted = invocation.inputs.all<string>('property')
    return {
      resource: toParameters([
        { name: 'name', valueString: name ?? system },
        version === undefined ? undefined : { name: 'version', valueString: version },
        { name: 'display', valueString: concept.display ?? code },
        ...propertiesOf(concept)
          .filter(([property]) => wanted.length === 0 || wanted.includes(property))
          .map(([property, value]) => ({
            name: 'property',
            part: [
              { name: 'code', valueCode: property },
              { name: 'value', ...value },
            ],
          })),
      ]),
    }
  },
})
