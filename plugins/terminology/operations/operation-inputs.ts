/** Reads the inputs of terminology operations: a value set, a code system, codings. */
import type { Invocation, OperationParameter } from '../../fhir/service.ts'
import { joinVersion, readCanonical } from '../canonical.ts'
import { type CodeSystem, readCodeSystem } from '../code-system.ts'
import { CodeSystemIncomplete, CodeSystemUnknown, InputMissing, ValueSetUnknown } from '../errors.ts'
import type { Expansion } from '../expanded-codes.ts'
import type { Pin } from '../expansion-contract.ts'
import type { ExpansionService } from '../terminology.ts'
import { refuseContradiction } from './refuse-contradiction.ts'

type Json = Readonly<Record<string, unknown>>

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

export interface RequestedValueSet {
  readonly name: string
  readonly resource: Json | undefined
  /** Throws 400, 404. With `pin` that version of a code system is used where the value set names none. */
  expand(pin?: Pin): Promise<Expansion>
}

/**
 * The id in `Type/id`: such a name is a resource of this server and is read with the caller's access. A canonical is a
 * definition.
 */
const idIn = (type: string, name: string | undefined): string | undefined =>
  name?.startsWith(`${type}/`) === true && !name.includes('|') ? name.slice(type.length + 1) : undefined

/** The value set that the URL of the operation, its body or its `url` names. Throws 400 when there is none. */
export const valueSetOf = async (
  terminology: ExpansionService,
  { interaction, inputs, data }: Invocation,
  operation: string,
): Promise<RequestedValueSet> => {
  const isGiven = inputs.get('valueSet') !== undefined || inputs.get('valueSetVersion') !== undefined
  /** The id of a literal reference in `url`, which is a resource of this server and not a canonical. */
  const literal = isGiven ? undefined : idIn('ValueSet', inputs.get('url'))
  const id = interaction.id ?? literal
  const url = inputs.get<string>('url')
  const named = await namedSystem(terminology, 'ValueSet', url, inputs.get('valueSetVersion'), [
    'url',
    'valueSetVersion',
    operation,
  ])
  const sent = inputs.get<Json>('valueSet')
  const given = id === undefined ? sent : (await data.read('ValueSet', id)).parse()
  if (given !== undefined) {
    const where = id === undefined ? 'the parameter valueSet' : `ValueSet/${id}`
    if (literal === undefined)
      refuseContradiction(operation, ['url', named.url], [`the url of ${where}`, String(given.url ?? '')])
    refuseContradiction(
      operation,
      ['valueSetVersion', named.version],
      [`the version of ${where}`, String(given.version ?? '')],
    )
    if (id !== undefined && sent !== undefined)
      refuseContradiction(operation, ['valueSet', String(sent.url ?? '')], ['the address', where])
    return { name: String(given.url ?? id ?? ''), resource: given, expand: (pin) => terminology.of(given, pin) }
  }
  if (url === undefined) throw InputMissing(operation, 'the url of a value set, or the value set')
  const name = joinVersion(named.url ?? url, named.version)
  const expand = async (pin?: Pin): Promise<Expansion> => {
    const expansion = await terminology.all(name, pin)
    if (expansion === undefined) throw ValueSetUnknown(name.slice(0, 200))
    return expansion
  }
  return { name, resource: undefined, expand }
}

const complete = (name: string, found: CodeSystem | undefined): CodeSystem => {
  if (found === undefined) throw CodeSystemUnknown(name.slice(0, 200))
  if (found.content !== 'complete') throw CodeSystemIncomplete(name.slice(0, 200), found.content)
  return found
}

/**
 * The code system that the URL of the operation or the inputs name. Throws 404 when this server does not have it, 400
 * when it is incomplete.
 */
export const wholeSystem = async (
  terminology: ExpansionService,
  { interaction, data }: Invocation,
  { url, version }: { readonly url: string | undefined; readonly version?: string | undefined },
  missing: () => Error,
): Promise<CodeSystem> => {
  const id = interaction.id ?? (version === undefined ? idIn('CodeSystem', url) : undefined)
  if (id !== undefined) return complete(`CodeSystem/${id}`, readCodeSystem((await data.read('CodeSystem', id)).parse()))
  if (url === undefined) throw missing()
  const name = joinVersion(url, version)
  return complete(name, await terminology.codeSystem(name))
}

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

/** Throws 400 where inputs name another code system, or another version, than the URL of the operation. */
export const refuseOtherSystem = (
  { interaction: { id } }: Invocation,
  own: CodeSystem,
  [operation, systemName]: readonly [operation: string, systemName: string],
  { url, version }: { readonly url: string | undefined; readonly version?: string | undefined },
): void => {
  if (id === undefined) return
  refuseContradiction(operation, [systemName, url], [`the url of CodeSystem/${id}`, own.url])
  refuseContradiction(operation, ['version', version], [`the version of CodeSystem/${id}`, own.version ?? ''])
}

/** A Parameters resource; undefined parts are left out. */
export const toParameters = (list: readonly (Json | undefined)[]): object => ({
  resourceType: 'Parameters',
  parameter: list.filter((one) => one !== undefined),
})
