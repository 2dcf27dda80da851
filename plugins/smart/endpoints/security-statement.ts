/**
 * CapabilityStatement.rest.security in /metadata, with the URLs of the OAuth endpoints. SMART App Launch,
 * "Conformance", section of the extension.
 */
import type { RequestContext } from '../../../kernel/index.ts'
import { issuerOf, PATHS } from '../issuer.ts'

const EXTENSION = 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris'
const SERVICES = 'http://terminology.hl7.org/CodeSystem/restful-security-service'

export const securityStatement =
  (hasLogin: boolean) =>
  (request: RequestContext): object => {
    const issuer = issuerOf(request)
    const uris = [...(hasLogin ? (['authorize'] as const) : []), 'token', 'register', 'introspect', 'revoke'] as const
    return {
      extension: [{ url: EXTENSION, extension: uris.map((url) => ({ url, valueUri: `${issuer}${PATHS[url]}` })) }],
      service: [{ coding: [{ system: SERVICES, code: 'SMART-on-FHIR' }], text: 'OAuth2 using SMART-on-FHIR profile' }],
    }
  }
