/**
 * $validate-code: whether a code is in a value set, or in a code system.
 * https://hl7.org/fhir/R4/valueset-operation-validate-code.html,
 * https://hl7.org/fhir/R4/codesystem-operation-validate-code.html
 */
import type { AnsweringOperation, OperationParameter } from '../../fhir/service.ts'
import { joinVersion } from '../canonical.ts'
import type { Expansion } from '../code-set.ts'
import { InputMissing } from '../errors.ts'

import { preferring } from '../system-versions.ts'
import type { ExpansionService } from '../terminology.ts'
import { DATE } from './as-of-input.ts'
import type { CodeIssue } from './code-issue.ts'
import { ofSystem } from './of-system.ts'
import { CODE_PARAMETERS, codingsOf, DISPLAY_LANGUAGE, type InputCoding, namedSystem } from './operation-inputs.ts'
import { refuseContradiction } from './refuse-contradiction.ts'
import { refuseOtherSystem, requestedSystem } from './requested-system.ts'
import { type RequestedValueSet, VALUE_SET_PARAMETERS, valueSetOf } from './requested-value-set.ts'
import { askingOf, type Found, nameOf, notInFragment, toAnswer, withoutSystem } from './verdict.ts'

/** Contents of code systems that tell of their codes. */
const TELLING: ReadonlySet<string> = new Set(['complete', 'fragment'])

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

/** A code that its code system does not have, or not in that version. */
const invalid = (coding: InputCoding, at: 'code' | 'system' | 'version', why: string): Found => ({
  coding,
  why,
  issues: [{ severity: 'error', detail: at === 'version' ? 'not-found' : 'invalid-code', text: why, at }],
})

/** Checks codings against a value set, or against one version of a code system in it. */
const inValueSet = (terminology: ExpansionService, { name, expand }: RequestedValueSet) => {
  const expansions = new Map<string, Promise<Expansion>>()
  /** Where the value set names no version, the version of the coding is used if this server has it. */
  const expansionFor = async ({ system = '', version }: InputCoding): Promise<Expansion> => {
    const isHere = version !== undefined && (await terminology.source(`${system}|${version}`)) !== undefined
    const key = isHere ? `${system}|${version}` : ''
    const expanded = async () => (await expand(isHere ? preferring(system, version) : undefined)).expansion
    const made = expansions.get(key) ?? expanded()
    expansions.set(key, made)
    return made
  }
  /** A code that the value set does not have, and what its code system tells of it. */
  const missing = async (coding: InputCoding, why: string): Promise<Found> => {
    const { system = '', version, code = '' } = coding
    const canonical = joinVersion(system, version)
    const whole = await terminology.source(canonical)
    const issues: CodeIssue[] = [{ severity: 'error', detail: 'not-in-vs', text: why, at: 'code' }]
    if (whole === undefined) {
      const text = `The code system ${canonical.slice(0, 200)} is not here.`
      issues.push({ severity: 'error', detail: 'not-found', text, at: 'system', unknown: canonical })
      return { coding, why, issues }
    }
    const concept = await whole.find(code)
    if (concept !== undefined) return { coding, why, issues, known: ofSystem(whole, concept) }
    if (whole.content === 'complete') {
      const text = `${nameOf(coding)} is not in the code system ${joinVersion(whole.url, whole.version)}.`
      issues.push({ severity: 'error', detail: 'invalid-code', text, at: 'code' })
    }
    return { coding, why, issues }
  }
  return async (coding: InputCoding): Promise<Found> => {
    const { system, version, code = '' } = coding
    if (system === undefined) {
      const why = `${nameOf(coding)} is not in the value set ${name.slice(0, 200)}.`
      const found = withoutSystem(coding)
      const issues = 'issues' in found ? found.issues : []
      return { ...found, issues: [{ severity: 'error', detail: 'not-in-vs', text: why, at: 'code' }, ...issues] }
    }
    const expansion = await expansionFor(coding)
    const versions = (await expansion.find(system, code)).filter(({ isUnknown }) => !isUnknown)
    const fits = versions.filter((one) => version === undefined || one.version === undefined || one.version === version)
    const [one] = fits
    if (one !== undefined) return { coding, one }
    const where = `is not in the value set ${name.slice(0, 200)}`
    const open = expansion.open.get(system)
    if (versions.length === 0 && open === 'any') {
      const whole = await terminology.source(system)
      const built = whole?.isGrammar === true ? await whole.find(code) : undefined
      if (whole !== undefined && built !== undefined) return { coding, one: ofSystem(whole, built) }
      if (whole?.isGrammar === true) return missing(coding, `${nameOf(coding)} ${where}.`)
    }
    if (versions.length === 0 && open === 'any') return { coding, perhaps: notInFragment(coding) }
    if (versions.length === 0)
      return missing(
        coding,
        `${nameOf(coding)} ${where}${open === undefined ? '' : ', as far as a fragment of its code system tells'}.`,
      )
    const others = versions.map((other) => other.version).join(', ')
    const why = `${nameOf(coding)} of version ${version?.slice(0, 100)} ${where}, which has it of version ${others}.`
    return { coding, why, issues: [{ severity: 'error', detail: 'vs-invalid', text: why, at: 'version' }] }
  }
}

export const validateInValueSet = (terminology: ExpansionService): AnsweringOperation => ({
  code: 'validate-code',
  definition: 'http://hl7.org/fhir/OperationDefinition/ValueSet-validate-code',
  documentation: 'Whether a code is in a value set.',
  levels: ['type', 'instance'],
  types: ['ValueSet'],
  parameters: [
    ...VALUE_SET_PARAMETERS,
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
    return toAnswer(found, askingOf(invocation, asked.name))
  },
})

export const validateInCodeSystem = (terminology: ExpansionService): AnsweringOperation => ({
  code: 'validate-code',
  definition: 'http://hl7.org/fhir/OperationDefinition/CodeSystem-validate-code',
  documentation: 'Whether a code is in a code system.',
  levels: ['type', 'instance'],
  types: ['CodeSystem'],
  parameters: [
    { name: 'url', type: 'uri', documentation: 'Canonical URL of the code system.' },
    { name: 'codeSystem', type: 'CodeSystem', documentation: 'The code system itself.' },
    DATE,
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
    const own = await requestedSystem(terminology, invocation, named, {
      operation: 'validate-code',
      needs: 'the url of a code system',
      contents: 'complete or a fragment',
    })
    // For `code` alone, another version than that of the code system gives false with a message.
    const version = isCodeOnly && url === named.url ? undefined : named.version
    refuseOtherSystem(invocation, own, ['validate-code', 'url'], { url: url && named.url, version })
    const isOfInstance = invocation.interaction.id !== undefined
    const find = async (coding: InputCoding): Promise<Found> => {
      const { version, code = '' } = coding
      const system = isCodeOnly ? own.url : coding.system
      if (system === undefined) return withoutSystem(coding)
      const whole = { ...coding, system }
      if (system !== own.url) return invalid(coding, 'system', `${nameOf(whole)} is not in the code system ${own.url}.`)
      const isOther = version !== undefined && version !== own.version
      // A coding with another version is checked in that version, if the request names none.
      const isFree = !isOfInstance && named.version === undefined
      const other = isOther && isFree ? await terminology.source(joinVersion(system, version)) : undefined
      const used = isOther ? (other !== undefined && TELLING.has(other.content) ? other : undefined) : own
      if (used === undefined)
        return invalid(
          coding,
          'version',
          `${nameOf(whole)} is of version ${version?.slice(0, 100)} of its code system, and the one asked is ${own.version ?? 'without a version'}.`,
        )
      const concept = await used.find(code)
      if (concept !== undefined) return { coding, one: ofSystem(used, concept) }
      if (used.content === 'fragment') return { coding, perhaps: notInFragment(whole) }
      return invalid(coding, 'code', `${nameOf(whole)} is not in the code system ${joinVersion(system, version)}.`)
    }
    const found: Found[] = []
    for (const coding of codings) found.push(await find(coding))
    return toAnswer(found, askingOf(invocation))
  },
})
