/** GET /metadata?mode=terminology: the terminology operations that are registered, and the code systems they know. */
import { BUILD, type RequestContext } from '../../kernel/index.ts'
import type { BuiltInOperation } from './operations/built-in.ts'
import type { FhirServer } from './parts.ts'

const at = ({ operations }: FhirServer, type: string, code: string): BuiltInOperation | undefined =>
  operations.at({ level: 'type', type }).find((one) => one.code === code)

/** https://hl7.org/fhir/R4/terminologycapabilities.html */
export const toTerminologyCapabilities = async (server: FhirServer, request: RequestContext): Promise<object> => {
  const expand = at(server, 'ValueSet', 'expand')
  const validate = at(server, 'ValueSet', 'validate-code')
  const isKnowing = at(server, 'CodeSystem', 'lookup') !== undefined
  const systems = isKnowing ? await server.definitions.all('CodeSystem') : []
  const urls = [...new Set(systems.flatMap(({ url }) => url ?? []))].sort()
  return {
    resourceType: 'TerminologyCapabilities',
    status: 'active',
    date: new Date(server.clock.now()).toISOString(),
    kind: 'instance',
    software: { name: 'refhir', version: BUILD },
    implementation: { description: 'refhir FHIR server', url: request.baseUrl },
    ...(urls.length > 0 && { codeSystem: urls.map((uri) => ({ uri })) }),
    ...(expand !== undefined && { expansion: { parameter: expand.parameters.map(({ name }) => ({ name })) } }),
    ...(validate !== undefined && { validateCode: { translations: false } }),
  }
}
