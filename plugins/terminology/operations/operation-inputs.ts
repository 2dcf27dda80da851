/** Inputs that several terminology operations read: codings, canonicals with versions. */
import type { Invocation, OperationParameter } from '../../fhir/service.ts'
import { readCanonical } from '../canonical.ts'
import { InputMissing } from '../errors.ts'
import type { Json } from '../expansion-contract.ts'
import type { ExpansionService } from '../terminology.ts'
import { refuseContradiction } from './refuse-contradiction.ts'

export interface InputCoding {
  readonly system?: string
  readonly version?: string
  readonly code?: string
  readonly display?: string
}

/** Parameters that give a code, in every form. */
export const CODE_PARAMETERS: readonly OperationParameter[] = [
  { name: 'code', type: 'code', documentation: 'The code.' },
  { name: 'system', type: 'uri', documentation: 'The system of the code.' },
  { name: 'version', type: 'string', documentation: 'The version of the system.' },
  { name: 'display', type: 'string', documentation: 'What the code is shown as.' },
  { name: 'coding', type: 'Coding', documentation: 'Code and system in one.' },
]

/** The requested language of displays. */
export const DISPLAY_LANGUAGE: OperationParameter = {
  name: 'displayLanguage',
  type: 'code',
  documentation: 'The language of the display, such as de or de-AT.',
}

/**
 * The codings to check. Throws 400 when there are none. `version` is the parameter that goes with `code` and `system`.
 */
export const codingsOf = (
  { inputs }: Invocation,
  operation: string,
  version: 'version' | 'systemVersion' = 'version',
): readonly InputCoding[] => {
  const concept = inputs.get<{ coding?: readonly InputCoding[] }>('codeableConcept')
  const coding = inputs.get<InputCoding>('coding')
  const code = inputs.get<string>('code')
  const system = inputs.get<string>('system')
  if (concept === undefined && coding !== undefined) {
    refuseContradiction(operation, ['code', code], ['the code of coding', coding.code ?? ''])
    refuseContradiction(
      operation,
      ['system', system === coding.system ? system : system && readCanonical(system).url],
      ['the system of coding', coding.system],
    )
  }
  if (concept !== undefined) {
    const codes = (concept.coding ?? []).map((one) => one.code)
    for (const [about, one] of [
      ['code', code],
      ['the code of coding', coding?.code],
    ] as const)
      if (!codes.includes(one)) refuseContradiction(operation, [about, one], ['codeableConcept', codes.join(', ')])
  }
  const given: readonly InputCoding[] =
    concept?.coding ??
    (coding !== undefined
      ? [coding]
      : code === undefined
        ? []
        : [
            {
              code,
              ...named('system', system),
              ...named('version', inputs.get(version)),
              ...named('display', inputs.get('display')),
            },
          ])
  const found = given.filter((one) => one.code !== undefined)
  if (found.length === 0) throw InputMissing(operation, 'a code, a coding or a codeableConcept with one')
  return found
}

const named = (name: string, value: string | undefined): object => (value === undefined ? {} : { [name]: value })

/**
 * Splits a canonical, `system|version`, and combines it with the separate version. Throws 400 where the two versions
 * differ; the last argument names both inputs and the operation.
 */
export const namedSystem = async (
  terminology: Pick<ExpansionService, 'readName'>,
  type: 'CodeSystem' | 'ValueSet',
  system: string | undefined,
  version: string | undefined,
  [systemName, versionName, operation]: readonly [system: string, version: string, operation: string],
) => {
  const named = system === undefined ? undefined : await terminology.readName(type, system)
  refuseContradiction(operation, [versionName, version], [`the version in ${systemName}`, named?.version])
  return { url: named?.url, version: named?.version ?? version }
}

/** A Parameters resource; undefined parts are left out. */
export const toParameters = (list: readonly (Json | undefined)[]): object => ({
  resourceType: 'Parameters',
  parameter: list.filter((one) => one !== undefined),
})
