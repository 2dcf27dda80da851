/** Settings of [smart.oidc] and [smart.oidc.fhir_user_lookup]. Spec: Configuration settings, Authentication 6. */
import { Type } from '../../kernel/index.ts'

/** A scope, RFC 6749, section 3.3. */
const SCOPE = '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$'
const DOMAIN = '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$'

/** Types of resources that a person can be. SMART App Launch 2.2, claim fhirUser. */
export const PERSON_TYPES = ['Patient', 'Practitioner', 'PractitionerRole', 'RelatedPerson', 'Person'] as const

export const oidcSection = Type.Object({
  issuer: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s?#]+$',
      allowed: 'an https URL',
      sample: 'https://login.example.org',
      env: 'SERVER_OIDC_ISSUER',
      flag: 'oidc-issuer',
      description: 'The OpenID provider people log in at, spelt exactly as it spells itself.',
    }),
  ),
  client_id: Type.Optional(
    Type.String({
      minLength: 1,
      sample: 'fhir-server',
      env: 'SERVER_OIDC_CLIENT_ID',
      flag: 'oidc-client-id',
      description: 'Id of this server at the provider.',
    }),
  ),
  client_secret: Type.Optional(
    Type.String({
      minLength: 1,
      secret: true,
      fileForbidden: true,
      env: 'SERVER_OIDC_CLIENT_SECRET',
      description: 'Secret of this server at the provider. Without it the server is a public client there.',
    }),
  ),
  scopes: Type.Array(Type.String({ pattern: SCOPE, allowed: 'a scope' }), {
    default: ['openid', 'profile'],
    description: 'Scopes that are requested of the provider.',
  }),
  fhir_user_claim: Type.String({
    default: 'fhirUser',
    minLength: 1,
    description: 'Claim that holds the FHIR resource of a person, such as Practitioner/p1.',
  }),
  allowed_claims: Type.Record(Type.String(), Type.Array(Type.String(), { minItems: 1 }), {
    default: {},
    sample: { groups: ['clinicians', 'nurses'] },
    description: 'Only people with one of these values of one of these claims may log in; everybody when left out.',
  }),
  allowed_email_domains: Type.Array(Type.String({ pattern: DOMAIN, allowed: 'a domain name' }), {
    default: [],
    sample: ['hospital.example.org'],
    description:
      'Only people with a verified e-mail address of one of these domains may log in; everybody when left out.',
  }),
  patient_from_fhir_user: Type.Boolean({
    default: false,
    description: 'A person who is a Patient is that patient in every launch, and is not asked to choose one.',
  }),
})

export const lookupSection = Type.Object({
  resource_type: Type.Optional(
    Type.String({
      pattern: `^(${PERSON_TYPES.join('|')})$`,
      allowed: `one of ${PERSON_TYPES.join(', ')}`,
      sample: 'Practitioner',
      description: 'Type of the resources that people without the claim fhir_user_claim are searched among.',
    }),
  ),
  claim: Type.Optional(
    Type.String({
      minLength: 1,
      sample: 'employee_number',
      description: 'Claim that holds the value of an identifier of the resource.',
    }),
  ),
  system: Type.Optional(
    Type.String({
      minLength: 1,
      sample: 'https://hospital.example.org/employees',
      description: 'System of that identifier.',
    }),
  ),
})
