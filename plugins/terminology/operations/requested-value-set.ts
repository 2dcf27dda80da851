/** The value set of a terminology operation: in the URL, in the body, or named by `url` or `context`. */
import type { Invocation, OperationParameter } from '../../fhir/service.ts'
import { joinVersion } from '../canonical.ts'
import { changedAt } from '../changed-at.ts'
import { ContextUnknown, InputMissing, InputValue, ValueSetUnknown } from '../errors.ts'
import type { Expanded, Json } from '../expansion-contract.ts'
import { parseInSlices } from '../in-slices.ts'
import type { SystemVersions } from '../system-versions.ts'
import type { ExpansionService } from '../terminology.ts'
import { asOfIn, checkAsOf, DATE } from './as-of-input.ts'
import { literalId } from './literal-id.ts'
import { namedSystem } from './operation-inputs.ts'
import { refuseContradiction } from './refuse-contradiction.ts'

/** The parameters that name a value set. */
export const VALUE_SET_PARAMETERS: readonly OperationParameter[] = [
  { name: 'url', type: 'uri', documentation: 'Canonical URL of the value set.' },
  { name: 'valueSetVersion', type: 'string', documentation: 'Its version.' },
  { name: 'valueSet', type: 'ValueSet', documentation: 'The value set itself.' },
  {
    name: 'context',
    type: 'uri',
    documentation: 'The element that is bound to the value set: [canonical of a StructureDefinition]#[id or path].',
  },
  DATE,
]

/** The canonical of the value set that `context` means. Throws 400 for another form, 404 where it means none. */
const inContext = async (
  terminology: ExpansionService,
  context: string | undefined,
  operation: string,
): Promise<string | undefined> => {
  if (context === undefined) return undefined
  const hash = context.lastIndexOf('#')
  if (hash < 1 || hash === context.length - 1)
    throw InputValue(operation, 'context', context.slice(0, 200), 'write [canonical of a StructureDefinition]#[path]')
  const found = await terminology.boundValueSet(context.slice(0, hash), context.slice(hash + 1))
  if (found === undefined) throw ContextUnknown(context.slice(0, 200))
  return found
}

export interface RequestedValueSet {
  readonly name: string
  /** Throws 400, 404. */
  expand(versions?: SystemVersions): Promise<Expanded>
}

/** The value set that the URL of the operation, its body or its `url` names. Throws 400 when there is none. */
export const valueSetOf = async (
  terminology: ExpansionService,
  invocation: Invocation,
  operation: string,
): Promise<RequestedValueSet> => {
  const { interaction, inputs, data } = invocation
  const isGiven = inputs.get('valueSet') !== undefined || inputs.get('valueSetVersion') !== undefined
  /** The id of a literal reference in `url`, which is a resource of this server and not a canonical. */
  const literal = isGiven ? undefined : literalId('ValueSet', inputs.get('url'))
  const id = interaction.id ?? literal
  const bound = await inContext(terminology, inputs.get('context'), operation)
  const url = inputs.get<string>('url') ?? bound
  refuseContradiction(operation, ['url', url], ['the value set of context', bound ?? url])
  const named = await namedSystem(terminology, 'ValueSet', url, inputs.get('valueSetVersion'), [
    'url',
    'valueSetVersion',
    operation,
  ])
  const sent = inputs.get<Json>('valueSet')
  const given: Json | undefined = id === undefined ? sent : await parseInSlices((await data.read('ValueSet', id)).json)
  const asOf = asOfIn(invocation)
  const options = (versions: SystemVersions | undefined) => ({
    ...(versions !== undefined && { versions }),
    ...(asOf !== undefined && { asOf }),
  })
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
    if (id !== undefined) checkAsOf(invocation, operation, where, changedAt(given))
    return {
      name: String(given.url ?? id ?? ''),
      expand: (versions) => terminology.of(given, options(versions)),
    }
  }
  if (url === undefined) throw InputMissing(operation, 'the url of a value set, or the value set')
  const name = joinVersion(named.url ?? url, named.version)
  const expand = async (versions?: SystemVersions): Promise<Expanded> => {
    const expanded = await terminology.all(name, options(versions))
    if (expanded === undefined) throw ValueSetUnknown(name.slice(0, 200))
    return expanded
  }
  return { name, expand }
}
