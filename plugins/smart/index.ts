/** The authorization server: who may ask for what, by SMART App Launch 2.2. Spec: [smart], Authentication. */
import { Type } from 'typebox'
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Fhir } from '../fhir/service.ts'
import { Limits } from '../limits/service.ts'
import { requireToken } from './bearer/require-token.ts'
import { smartSection } from './config.ts'
import * as errors from './errors.ts'
import { requirePublicUrl } from './require-public-url.ts'
import { smartMigrations } from './tables.ts'

export default definePlugin({
  name: 'smart',
  description: 'Asks callers for an access token, and issues them: SMART App Launch',
  // Of [server] it reads what the kernel declares.
  config: { smart: smartSection, server: Type.Object({}) },
  needs: { database: Database, fhir: Fhir },
  uses: [Limits],
  migrations: smartMigrations,
  errors,
  enabled: ({ smart }) => smart.enabled,
  setup({ config: { server }, hooks }) {
    requirePublicUrl(server as { bind: string; public_url?: string })
    hooks.admit.tap('a token is required', requireToken)
  },
})
