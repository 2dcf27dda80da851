/** $lookup: what a code system says of a code. https://hl7.org/fhir/R4/codesystem-operation-lookup.html */
import type { AnsweringOperation } from '../../fhir/service.ts'
import type { ConceptFacts, Designation } from '../code-system.ts'
import type { ConceptSource } from '../concept-source.ts'
import { displayOf } from '../display.ts'
import { CodeNotInFragment, CodeUnknown } from '../errors.ts'
import type { ExpansionService } from '../terminology.ts'
import { DATE } from './as-of-input.ts'
import { ofSystem } from './of-system.ts'
import { CODE_PARAMETERS, codingsOf, DISPLAY_LANGUAGE, namedSystem, toParameters } from './operation-inputs.ts'
import { refuseContradiction } from './refuse-contradiction.ts'
import { requestedSystem } from './requested-system.ts'

type Json = Readonly<Record<string, unknown>>

/** The properties that the code system gives, with their declared types, and parents and children by nesting. */
const propertiesOf = async (system: ConceptSource, concept: ConceptFacts): Promise<readonly Json[]> => {
  const { values, properties, definition } = concept
  const linked = (name: string, codes: readonly string[]) =>
    codes
      .filter((code) => properties.get(name)?.includes(code) !== true)
      .map((code) => ({ code: name, value: { valueCode: code } }))
  return [
    ...values,
    ...linked('parent', await system.linked(concept, 'parents')),
    ...linked('child', await system.linked(concept, 'children')),
    ...(definition === undefined ? [] : [{ code: 'definition', value: { valueString: definition } }]),
  ].map(({ code, value }) => ({
    name: 'property',
    part: [
      { name: 'code', valueCode: code },
      { name: 'value', ...value },
    ],
    code,
  }))
}

const toDesignation = ({ language, use, value }: Designation): Json => ({
  name: 'designation',
  part: [
    ...(language === undefined ? [] : [{ name: 'language', valueCode: language }]),
    ...(use === undefined ? [] : [{ name: 'use', valueCoding: use }]),
    { name: 'value', valueString: value },
  ],
})

const answer = async (
  system: ConceptSource,
  concept: ConceptFacts,
  wanted: readonly string[],
  language: string | undefined,
) => {
  const isWanted = (...names: readonly string[]): boolean =>
    wanted.length === 0 || names.some((name) => wanted.includes(name))
  return toParameters([
    { name: 'name', valueString: system.name ?? system.url },
    system.version === undefined ? undefined : { name: 'version', valueString: system.version },
    { name: 'display', valueString: displayOf(ofSystem(system, concept), language) ?? concept.code },
    ...concept.designations
      .filter((one) => isWanted('designation', ...(one.language === undefined ? [] : [`lang.${one.language}`])))
      .map(toDesignation),
    ...(await propertiesOf(system, concept))
      .filter(({ code }) => isWanted(code as string))
      .map(({ name, part }) => ({ name, part })),
  ])
}

export const lookupOperation = (terminology: ExpansionService): AnsweringOperation => ({
  code: 'lookup',
  definition: 'http://hl7.org/fhir/OperationDefinition/CodeSystem-lookup',
  documentation: 'What a code system says of a code.',
  levels: ['type'],
  types: ['CodeSystem'],
  parameters: [
    ...CODE_PARAMETERS.filter(({ name }) => name !== 'display'),
    { name: 'property', type: 'code', max: '*', documentation: 'Which properties to give; all when left out.' },
    DISPLAY_LANGUAGE,
    DATE,
  ],
  async answer(invocation) {
    const { inputs } = invocation
    const [coding] = codingsOf(invocation, 'lookup')
    refuseContradiction('lookup', ['version', inputs.get('version')], ['the version of coding', coding?.version])
    const { url, version } = await namedSystem(
      terminology,
      'CodeSystem',
      inputs.get<string>('system') ?? coding?.system,
      coding?.version ?? inputs.get('version'),
      ['system', 'version', 'lookup'],
    )
    const system = await requestedSystem(
      terminology,
      invocation,
      { url, version },
      { operation: 'lookup', needs: 'the system of the code', contents: 'complete or a fragment' },
    )
    const code = coding?.code as string
    const concept = await system.find(code)
    if (concept === undefined)
      throw (system.content === 'complete' ? CodeUnknown : CodeNotInFragment)(
        system.url.slice(0, 200),
        code.slice(0, 100),
      )
    return { resource: await answer(system, concept, inputs.all('property'), inputs.get('displayLanguage')) }
  },
})
