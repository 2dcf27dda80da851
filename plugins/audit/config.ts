/** [audit]. Spec: Configuration settings, Events. */
import { Type } from '../../kernel/index.ts'

const KEY_BYTES = 16 // spec: minimum length of SERVER_AUDIT_KEY

export const auditSection = Type.Object({
  enabled: Type.Boolean({ default: true, description: 'Records who did what to which resource.' }),
  reads: Type.Boolean({
    default: true,
    description: 'When false, only changes, refusals and admin access are recorded.',
  }),
  include_query: Type.Boolean({
    default: false,
    description: 'Keeps the parameters of searches, which may hold names and other data of patients.',
  }),
  retention_days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 36_500,
      sample: 2190,
      description: 'Events older than this are pruned; when unset they are kept forever.',
    }),
  ),
  unattributed_per_second: Type.Integer({
    default: 20,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'Most refusals per second with no known caller that are recorded one by one; a summary counts the others. 0 records every one.',
  }),
  key: Type.Optional(
    Type.String({
      minLength: KEY_BYTES,
      secret: true,
      fileForbidden: true,
      env: 'SERVER_AUDIT_KEY',
      description:
        'Key of the hash chain over the trail: random, the same on every server, kept outside the database. Without it the chain shows mistakes only, no tampering.',
    }),
  ),
  previous_keys: Type.Array(Type.String({ minLength: KEY_BYTES }), {
    default: [],
    secret: true,
    fileForbidden: true,
    env: 'SERVER_AUDIT_PREVIOUS_KEYS',
    description: 'Keys that were replaced and still have events in the trail; they verify those, and nothing new.',
  }),
})
