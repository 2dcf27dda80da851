/** What the terminology operations are asked about: a value set, a code system, codings. */
import type { Invocation, OperationParameter } from '../../fhir/service.ts'
import type { CodeSystem } from '../code-system.ts'
import { CodeSystemIncomplete, CodeSystemUnknown, InputMissing, ValueSetUnknown } from '../errors.ts'
import type { Expansion } from '../expansion.ts'
import type { Expanding } from '../terminology.ts'

type Json = Readonly<Record<string, unknown>>

export interface Coding {
  readonly system?: string
  readonly version?: string
  readonly code?: string
  readonly display?: string
}

/** Parameters that name codes, in every form. */
export const CODE_PARAMETERS: readonly OperationParameter[] = [
  { name: 'code', type: 'code', documentation: 'The code.' },
  { name: 'system', type: 'uri', documentation: 'The system of the code.' },
  { name: 'version', type: 'string', documentation: 'The version of the system.' },
  { name: 'display', type: 'string', documentation: 'What the code is shown as.' },
  { name: 'coding', type: 'Coding', documentation: 'Code and system in one.' },
]

/** Throws 400 when there is none. `system` stands in where a code comes without. */
export const codingsOf = ({ inputs }: Invocation, operation: string, system?: string): readonly Coding[] => {
  const concept = inputs.get<{ coding?: readonly Coding[] }>('codeableConcept')
  const coding = inputs.get<Coding>('coding')
  const code = inputs.get<string>('code')
  const given: readonly Coding[] =
    concept?.coding ??
    (coding !== undefined
      ? [coding]
      : code === undefined
        ? []
        : [{ code, ...named('system', inputs.get('system')), ...named('display', inputs.get('display')) }])
  const found = given.filter((one) => one.code !== undefined)
  if (found.length === 0) throw InputMissing(operation, 'a code, a coding or a codeableConcept with one')
  return found.map((one) => ({ ...one, ...named('system', one.system ?? system) }))
}

const named = (name: string, value: string | undefined): object => (value === undefined ? {} : { [name]: value })

export interface AskedValueSet {
  readonly name: string
  readonly resource: Json | undefined
  readonly expansion: Expansion
}

/** The value set of the address, of the body, or by url. Throws 400, 404. */
export const valueSetOf = async (
  terminology: Expanding,
  { interaction, inputs, data }: Invocation,
  operation: string,
): Promise<AskedValueSet> => {
  const { id } = interaction
  const given = id === undefined ? inputs.get<Json>('valueSet') : (await data.read('ValueSet', id)).parse()
  if (given !== undefined)
    return { name: String(given.url ?? id ?? ''), resource: given, expansion: await terminology.of(given) }
  const url = inputs.get<string>('url')
  if (url === undefined) throw InputMissing(operation, 'the url of a value set, or the value set')
  const version = inputs.get<string>('valueSetVersion')
  const name = version === undefined || url.includes('|') ? url : `${url}|${version}`
  const expansion = await terminology.all(name)
  if (expansion === undefined) throw ValueSetUnknown(name.slice(0, 200))
  return { name, resource: undefined, expansion }
}

/** Throws 404 when it is not here, 400 when not all of it is. */
export const wholeSystem = async (
  terminology: Expanding,
  system: string,
  version: string | undefined,
): Promise<CodeSystem> => {
  const name = version === undefined || system.includes('|') ? system : `${system}|${version}`
  const found = await terminology.codeSystem(name)
  if (found === undefined) throw CodeSystemUnknown(name.slice(0, 200))
  if (found.content !== 'complete') throw CodeSystemIncomplete(name.slice(0, 200), found.content)
  return found
}

/** The code system of the address, by url, or of a coding. */
export const systemOf = async (
  { interaction, inputs, data }: Invocation,
  parameter: 'url' | 'system',
): Promise<string | undefined> => {
  const { id } = interaction
  if (id !== undefined) return String((await data.read('CodeSystem', id)).parse().url ?? `CodeSystem/${id}`)
  return inputs.get<string>(parameter) ?? inputs.get<Coding>('coding')?.system
}

/** A Parameters resource; what is undefined is left out. */
export const toParameters = (list: readonly (Json | undefined)[]): object => ({
  resourceType: 'Parameters',
  parameter: list.filter((one) => one !== undefined),
})
