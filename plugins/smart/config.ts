/** Settings of [smart]. Spec: Configuration settings, Authentication. */
import { Type } from '../../kernel/index.ts'

const SECRET_CHARS = 32 // 128 bits where each character carries 4
const PASSPHRASE_CHARS = 16

export const smartSection = Type.Object({
  enabled: Type.Boolean({
    default: false,
    flag: 'smart',
    description: 'Asks callers for an access token: SMART App Launch 2.2.',
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
