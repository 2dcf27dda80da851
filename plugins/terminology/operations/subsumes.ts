/** $subsumes: whether one code is an ancestor of another. https://hl7.org/fhir/R4/codesystem-operation-subsumes.html */
import type { AnsweringOperation } from '../../fhir/service.ts'
import type { ConceptFacts } from '../code-system.ts'
import { CodeUnknown, InputMissing, NoHierarchy } from '../errors.ts'
import type { ExpansionService } from '../terminology.ts'
import { type InputCoding, namedSystem, toParameters } from './operation-inputs.ts'
import { refuseContradiction } from './refuse-contradiction.ts'
import { refuseOtherSystem, requestedSystem } from './requested-system.ts'

export const subsumesOperation = (terminology: ExpansionService): AnsweringOperation => ({
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
    const [asked, askedVersion] = [inputs.get<string>('system'), inputs.get<string>('version')]
    for (const one of ['A', 'B']) {
      const coding = inputs.get<InputCoding>(`coding${one}`)
      const code = inputs.get<string>(`code${one}`)
      refuseContradiction('subsumes', [`code${one}`, code], [`the code of coding${one}`, coding?.code])
    }
    const [a, b] = ['A', 'B'].map((one) => ({
      code: inputs.get<string>(`code${one}`) ?? inputs.get<InputCoding>(`coding${one}`)?.code,
      system: inputs.get<InputCoding>(`coding${one}`)?.system,
      version: inputs.get<InputCoding>(`coding${one}`)?.version,
    })) as [InputCoding, InputCoding]
    const given = await namedSystem(
      terminology,
      'CodeSystem',
      asked ?? a.system ?? b.system,
      askedVersion ?? a.version ?? b.version,
      ['system', 'version', 'subsumes'],
    )
    const needs = 'the one system of both codes'
    const whole = await requestedSystem(terminology, invocation, given, {
      operation: 'subsumes',
      needs,
      contents: 'complete',
    })
    if (asked !== undefined || askedVersion !== undefined)
      refuseOtherSystem(invocation, whole, ['subsumes', 'system'], {
        url: asked === undefined ? undefined : given.url,
        version: given.version,
      })
    const { url: system, version, hierarchy } = whole
    for (const one of [a, b]) {
      if (one.system !== undefined && one.system !== system) throw InputMissing('subsumes', needs)
      if (one.version !== undefined && one.version !== version)
        throw InputMissing('subsumes', 'both codes in one version of their system')
    }
    if (hierarchy !== 'is-a') throw NoHierarchy(system.slice(0, 200), `its hierarchy means ${hierarchy}`)
    const conceptOf = async ({ code }: InputCoding): Promise<ConceptFacts> => {
      if (code === undefined) throw InputMissing('subsumes', 'codeA and codeB')
      const found = await whole.find(code)
      if (found === undefined) throw CodeUnknown(system.slice(0, 200), code.slice(0, 100))
      return found
    }
    const one = await conceptOf(a)
    const other = await conceptOf(b)
    const outcome =
      one.code === other.code
        ? 'equivalent'
        : (await whole.isWithin(other, one))
          ? 'subsumes'
          : (await whole.isWithin(one, other))
            ? 'subsumed-by'
            : 'not-subsumed'
    return { resource: toParameters([{ name: 'outcome', valueCode: outcome }]) }
  },
})
