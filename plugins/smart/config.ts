/** Settings of [smart]. Spec: Configuration settings, Authentication. */
import { Type } from '../../kernel/index.ts'

const SECRET_CHARS = 32 // 128 bits where each character carries 4
const PASSPHRASE_CHARS = 16

export const smartSection = Type.Object({
  enabled: Type.Boolean({
    default: false,
    env: 'SERVER_SMART',
    flag: 'smart',
    description: 'Asks callers for an access token: SMART App Launch 2.2.',
  }),
  patient: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9.-]{1,64}$',
      allowed: 'the id of a Patient',
      sample: 'p1',
      flag: 'smart-patient',
      description: 'Patient context of launches whose person is not asked for one; for trying apps out.',
    }),
  ),
  encounter: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9.-]{1,64}$',
      allowed: 'the id of an Encounter',
      sample: 'e1',
      flag: 'smart-encounter',
      description: 'Encounter context of launches, where it is an encounter of the patient.',
    }),
  ),
  fhir_user: Type.Optional(
    Type.String({
      pattern: '^(Patient|Practitioner|PractitionerRole|RelatedPerson|Person)/[A-Za-z0-9.-]{1,64}$',
      allowed: 'a reference such as Practitioner/p1',
      sample: 'Practitioner/p1',
      flag: 'smart-fhir-user',
      description: 'Who a person is after a demo login; nobody in particular when unset.',
    }),
  ),
  demo_login: Type.Boolean({
    default: false,
    flag: 'smart-demo-login',
    description: 'For tests only: logs people in by any user name, and verifies nothing.',
  }),
  allow_remote_demo_login: Type.Boolean({
    default: false,
    fileForbidden: true,
    env: 'SERVER_ALLOW_REMOTE_DEMO_LOGIN',
    description: 'Allows demo_login where [server] bind is not a loopback address: others can log in then.',
  }),
  dcr_token: Type.Optional(
    Type.String({
      minLength: SECRET_CHARS,
      secret: true,
      env: 'SERVER_SMART_DCR_TOKEN',
      flag: 'smart-dcr-token',
      description:
        'Token that lets clients register at /oauth/register. When unset, each start makes one and shows it on a terminal only.',
    }),
  ),
  confidential_secret: Type.Optional(
    Type.String({
      minLength: SECRET_CHARS,
      secret: true,
      env: 'SERVER_SMART_CONFIDENTIAL_SECRET',
      flag: 'smart-confidential-secret',
      description:
        'Secret of the built-in client "confidential". When unset, each start makes one and shows it on a terminal only.',
    }),
  ),
  signing_key_passphrase: Type.Optional(
    Type.String({
      minLength: PASSPHRASE_CHARS,
      secret: true,
      fileForbidden: true,
      env: 'SERVER_SIGNING_KEY_PASSPHRASE',
      description:
        'Encrypts the signing keys in the database. Without it they are stored as they are; when it is lost they cannot be read any more.',
    }),
  ),
  inside_jwks_hosts: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    sample: ['keys.hospital.internal'],
    description:
      'Hosts that keys of clients are fetched from though they lie at addresses that are not public. The keys of all others are fetched from public addresses only.',
  }),
})
