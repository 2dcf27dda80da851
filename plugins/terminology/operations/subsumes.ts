/** $subsumes: does one code lie above another? https://hl7.org/fhir/R4/codesystem-operation-subsumes.html */
import type { Operation } from '../../fhir/service.ts'
import { type Concept, reach } from '../code-system.ts'
import { CodeUnknown, InputMissing, NoHierarchy } from '../errors.ts'
import type { Expanding } from '../terminology.ts'
import { type Coding, systemOf, toParameters, wholeSystem } from './asked.ts'

export const subsumesOperation = (terminology: Expanding): Operation => ({
  code: 'subsumes',
  definition: 'http://hl7.org/fhir/OperationDefinition/CodeSystem-subsumes',
  documentation: 'Whether one code lies above another in a code system.',
  levels: ['type', 'instance'],
  types: ['CodeSystem'],
  parameters: [
    { name: 'codeA', type: 'code', documentation: 'One code.' },
    { name: 'codeB', type: 'code', documentation: 'The other code.' },
    { name: 'system', type: 'uri', documentation: 'The code system of both.' },
    { name: 'version', type: 'string', documentation: 'Its version.' },
    { name: 'codingA', type: 'Coding', documentation: 'One code with its system.' },
    { name: 'codingB', type: 'Coding', documentation: 'The other one.' },
  ],
  async answer(invocation) {
    const { inputs } = invocation
    const [a, b] = ['A', 'B'].map((one) => ({
      code: inputs.get<string>(`code${one}`) ?? inputs.get<Coding>(`coding${one}`)?.code,
      system: inputs.get<Coding>(`coding${one}`)?.system,
    })) as [Coding, Coding]
    const system = (await systemOf(invocation, 'system')) ?? a.system
    if (system === undefined || (b.system !== undefined && b.system !== system))
      throw InputMissing('subsumes', 'the one system of both codes')
    const { concepts, hierarchy } = await wholeSystem(terminology, system, inputs.get('version'))
    if (hierarchy !== 'is-a') throw NoHierarchy(system.slice(0, 200), `its hierarchy means ${hierarchy}`)
    const [one, other] = [a, b].map(({ code }): Concept => {
      if (code === undefined) throw InputMissing('subsumes', 'codeA and codeB')
      const found = concepts.get(code)
      if (found === undefined) throw CodeUnknown(system.slice(0, 200), code.slice(0, 100))
      return found
    }) as [Concept, Concept]
    const outcome =
      one === other
        ? 'equivalent'
        : reach(one, 'children').has(other)
          ? 'subsumes'
          : reach(other, 'children').has(one)
            ? 'subsumed-by'
            : 'not-subsumed'
    return { resource: toParameters([{ name: 'outcome', valueCode: outcome }]) }
  },
})
