/**
 * $validate-code: whether a code is in a value set, or in a code system.
 * https://hl7.org/fhir/R4/valueset-operation-validate-code.html,
 * https://hl7.org/fhir/R4/codesystem-operation-validate-code.html
 */
import type { Operation, OperationParameter } from '../../fhir/service.ts'
import { joinVersion } from '../canonical.ts'
import { InputMissing } from '../errors.ts'
import type { Expansion } from '../expanded-codes.ts'
import type { ExpansionService } from '../terminology.ts'
import { ofSystem } from './of-system.ts'
import {
  CODE_PARAMETERS,
  codingsOf,
  DISPLAY_LANGUAGE,
  type InputCoding,
  namedSystem,
  type RequestedValueSet,
  refuseOtherSystem,
  valueSetOf,
  wholeSystem,
} from './operation-inputs.ts'
import { refuseContradiction } from './refuse-contradiction.ts'
import { type Asking, type Found, nameOf, toAnswer, withoutSystem } from './verdict.ts'

const CONCEPT: OperationParameter = {
  name: 'codeableConcept',
  type: 'CodeableConcept',
  documentation: 'One of its codings has to be there.',
}
const ABSTRACT: OperationParameter = {
  name: 'abstract',
  type: 'boolean',
  documentation: 'False: codes that only group others are not valid.',
}

/** Checks codings against a value set, or against one version of a code system in it. */
const inValueSet = (terminology: ExpansionService, { name, expand }: RequestedValueSet) => {
  const expansions = new Map<string, Promise<Expansion>>()
  /** Where the value set names no version, the version of the coding is used if this server has it. */
  const expansionFor = async ({ system = '', version }: InputCoding): Promise<Expansion> => {
    const isHere = version !== undefined && (await terminology.codeSystem(`${system}|${version}`)) !== undefined
    const key = isHere ? `${system}|${version}` : ''
    const made = expansions.get(key) ?? expand(isHere ? { system, version } : undefined)
    expansions.set(key, made)
    return made
  }
  return async (coding: InputCoding): Promise<Found> => {
    const { system, version, code = '' } = coding
    if (system === undefined) return { coding, why: withoutSystem(coding) }
    const versions = (await expansionFor(coding)).find(system, code).filter(({ isUnknown }) => !isUnknown)
    const fits = versions.filter((one) => version === undefined || one.version === undefined || one.version === version)
    const [one] = fits
    if (one !== undefined) return { coding, one }
    const where = `is not in the value set ${name.slice(0, 200)}`
    if (versions.length === 0) return { coding, why: `${nameOf(coding)} ${where}.` }
    const others = versions.map((other) => other.version).join(', ')
    return {
      coding,
      why: `${nameOf(coding)} of version ${version?.slice(0, 100)} ${where}, which has it of version ${others}.`,
    }
  }
}

const asking = (inputs: { get<T>(name: string): T | undefined }): Asking => ({
  language: inputs.get('displayLanguage'),
  abstract: inputs.get('abstract'),
})

export const validateInValueSet = (terminology: ExpansionService): Operation => ({
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
    { name: 'systemVersion', type: 'string', documentation: 'The version of the system.' },
    CONCEPT,
    ABSTRACT,
    DISPLAY_LANGUAGE,
  ],
  async answer(invocation) {
    const { inputs } = invocation
    const codings = codingsOf(invocation, 'validate-code', 'systemVersion')
    const isCodeOnly = inputs.get('coding') === undefined && inputs.get('codeableConcept') === undefined
    if (isCodeOnly && inputs.get('system') === undefined)
      throw InputMissing('validate-code', 'the system of the code, as system or in a coding')
    const ofCoding = inputs.get<InputCoding>('coding')?.version
    refuseContradiction(
      'validate-code',
      ['systemVersion', inputs.get('systemVersion')],
      ['the version of coding', ofCoding],
    )
    const asked = await valueSetOf(terminology, invocation, 'validate-code')
    const find = inValueSet(terminology, asked)
    const found: Found[] = []
    for (const coding of codings) found.push(await find(coding))
    return toAnswer(found, asking(inputs))
  },
})

export const validateInCodeSystem = (terminology: ExpansionService): Operation => ({
  code: 'validate-code',
  definition: 'http://hl7.org/fhir/OperationDefinition/CodeSystem-validate-code',
  documentation: 'Whether a code is in a code system.',
  levels: ['type', 'instance'],
  types: ['CodeSystem'],
  parameters: [
    { name: 'url', type: 'uri', documentation: 'Canonical URL of the code system.' },
    ...CODE_PARAMETERS.filter(({ name }) => name !== 'system'),
    CONCEPT,
    ABSTRACT,
    DISPLAY_LANGUAGE,
  ],
  async answer(invocation) {
    const { inputs } = invocation
    const isCodeOnly = inputs.get('coding') === undefined && inputs.get('codeableConcept') === undefined
    const codings = codingsOf(invocation, 'validate-code')
    const url = inputs.get<string>('url')
    const named = await namedSystem(
      terminology,
      'CodeSystem',
      url ?? codings.find(({ system }) => system !== undefined)?.system,
      inputs.get('version'),
      [url === undefined ? 'the system of the coding' : 'url', 'version', 'validate-code'],
    )
    const missing = () => InputMissing('validate-code', 'the url of a code system')
    const own = await wholeSystem(terminology, invocation, named, missing)
    // For `code` alone, another version than that of the code system gives false with a message.
    const version = isCodeOnly && url === named.url ? undefined : named.version
    refuseOtherSystem(invocation, own, ['validate-code', 'url'], { url: url && named.url, version })
    const isOfInstance = invocation.interaction.id !== undefined
    const find = async (coding: InputCoding): Promise<Found> => {
      const { version, code = '' } = coding
      const system = isCodeOnly ? own.url : coding.system
      if (system === undefined) return { coding, why: withoutSystem(coding) }
      const whole = { ...coding, system }
      if (system !== own.url) return { coding, why: `${nameOf(whole)} is not in the code system ${own.url}.` }
      const isOther = version !== undefined && version !== own.version
      // A coding with another version is checked in that version, if the request names none.
      const isFree = !isOfInstance && named.version === undefined
      const other = isOther && isFree ? await terminology.codeSystem(joinVersion(system, version)) : undefined
      const used = isOther ? (other?.content === 'complete' ? other : undefined) : own
      if (used === undefined)
        return {
          coding,
          why: `${nameOf(whole)} is of version ${version?.slice(0, 100)} of its code system, and the one asked is ${own.version ?? 'without a version'}.`,
        }
      const concept = used.find(code)
      if (concept !== undefined) return { coding, one: ofSystem(used, concept) }
      return { coding, why: `${nameOf(whole)} is not in the code system ${joinVersion(system, version)}.` }
    }
    const found: Found[] = []
    for (const coding of codings) found.push(await find(coding))
    return toAnswer(found, asking(inputs))
  },
})
