/** GET /metadata?mode=terminology: the terminology operations that are registered, and the code systems they know. */
import { BUILD, type Clock, type RequestContext } from '../../kernel/index.ts'
import type { Definitions } from '../packages/service.ts'
import type { CapabilityPart } from './capability-part.ts'
import type { BuiltInInvocation, BuiltInOperation } from './operations/built-in.ts'
import type { Operations } from './operations/registry.ts'

export interface TerminologyCapabilitiesParts {
  readonly clock: Clock
  readonly operations: Pick<Operations<BuiltInInvocation>, 'at'>
  readonly definitions: Pick<Definitions, 'all'>
  /** Parts that other plugins have added. */
  readonly described: readonly CapabilityPart[]
}

const at = ({ operations }: TerminologyCapabilitiesParts, type: string, code: string): BuiltInOperation | undefined =>
  operations.at({ level: 'type', type }).find((one) => one.code === code)

/** https://hl7.org/fhir/R4/terminologycapabilities.html */
export const toTerminologyCapabilities = async (
  parts: TerminologyCapabilitiesParts,
  request: RequestContext,
): Promise<object> => {
  const expand = at(parts, 'ValueSet', 'expand')
  const validate = at(parts, 'ValueSet', 'validate-code')
  const isKnowing = at(parts, 'CodeSystem', 'lookup') !== undefined
  const systems = isKnowing ? await parts.definitions.all('CodeSystem') : []
  const added = parts.described.flatMap(({ codeSystems }) => codeSystems ?? [])
  const urls = [...new Set([...systems.flatMap(({ url }) => url ?? []), ...added])].sort()
  const isTranslating = at(parts, 'ConceptMap', 'translate') !== undefined
  const isClosing = parts.operations.at({ level: 'system', type: undefined }).some(({ code }) => code === 'closure')
  return {
    resourceType: 'TerminologyCapabilities',
    status: 'active',
    date: new Date(parts.clock.now()).toISOString(),
    kind: 'instance',
    software: { name: 'refhir', version: BUILD },
    implementation: { description: 'refhir FHIR server', url: request.baseUrl },
    ...(urls.length > 0 && { codeSystem: urls.map((uri) => ({ uri })) }),
    ...(expand !== undefined && { expansion: { parameter: expand.parameters.map(({ name }) => ({ name })) } }),
    ...(validate !== undefined && { validateCode: { translations: false } }),
    // A translation needs a map, but the request need not name it.
    ...(isTranslating && { translation: { needsMap: false } }),
    ...(isClosing && { closure: { translation: false } }),
  }
}
