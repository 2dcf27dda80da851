/** The code system of a terminology operation: in the URL, in the body, or named by canonical. */
import type { Invocation } from '../../fhir/service.ts'
import { joinVersion } from '../canonical.ts'
import { readCodeSystem } from '../code-system.ts'
import type { ConceptSource } from '../concept-source.ts'
import { CodeSystemIncomplete, CodeSystemUnknown, InputMissing } from '../errors.ts'
import type { Json } from '../expansion-contract.ts'
import { createMemorySource } from '../memory-source.ts'
import type { ExpansionService } from '../terminology.ts'
import { checkAsOf } from './as-of-input.ts'
import { literalId } from './literal-id.ts'
import { refuseContradiction } from './refuse-contradiction.ts'

/** Parts of a code system that tell of their codes: a fragment tells of those that it has. */
export type Contents = 'complete' | 'complete or a fragment'

/** Throws 404 where there is none, 400 where it does not tell of its codes. */
export const usableSystem = (name: string, found: ConceptSource | undefined, contents: Contents): ConceptSource => {
  if (found === undefined) throw CodeSystemUnknown(name.slice(0, 200))
  if (found.content === 'complete' || (found.content === 'fragment' && contents !== 'complete')) return found
  throw CodeSystemIncomplete(name.slice(0, 200), found.content)
}

/**
 * The code system that the URL of the operation or the inputs name, or that is in `codeSystem`. Throws 404 when this server
 * does not have it, 400 when it is incomplete, or has changed since `date`.
 */
export const requestedSystem = async (
  terminology: ExpansionService,
  invocation: Invocation,
  { url, version }: { readonly url: string | undefined; readonly version?: string | undefined },
  { operation, needs, contents }: { readonly operation: string; readonly needs: string; readonly contents: Contents },
): Promise<ConceptSource> => {
  const { interaction, inputs, data } = invocation
  const sent = inputs.get<Json>('codeSystem')
  const id = interaction.id ?? (version === undefined ? literalId('CodeSystem', url) : undefined)
  if (sent !== undefined) {
    if (id !== undefined)
      refuseContradiction(operation, ['codeSystem', String(sent.url ?? '')], ['the address', `CodeSystem/${id}`])
    refuseContradiction(operation, ['url', inputs.get('url')], ['the url of codeSystem', String(sent.url ?? '')])
    return usableSystem('of the request', createMemorySource(readCodeSystem(sent)), contents)
  }
  if (id === undefined && url === undefined) throw InputMissing(operation, needs)
  const name = id === undefined ? joinVersion(url ?? '', version) : `CodeSystem/${id}`
  const found =
    id === undefined ? await terminology.source(name) : await terminology.sourceOf(await data.read('CodeSystem', id))
  const system = usableSystem(name, found, contents)
  checkAsOf(invocation, operation, `the code system ${name}`, system.changed)
  return system
}

/** Throws 400 where inputs name another code system, or another version, than the URL of the operation. */
export const refuseOtherSystem = (
  { interaction: { id } }: Invocation,
  own: ConceptSource,
  [operation, systemName]: readonly [operation: string, systemName: string],
  { url, version }: { readonly url: string | undefined; readonly version?: string | undefined },
): void => {
  if (id === undefined) return
  refuseContradiction(operation, [systemName, url], [`the url of CodeSystem/${id}`, own.url])
  refuseContradiction(operation, ['version', version], [`the version of CodeSystem/${id}`, own.version ?? ''])
}
