/** The authorization server: who may ask for what, by SMART App Launch 2.2. Spec: [smart], Authentication. */
import { Type } from 'typebox'
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Fhir } from '../fhir/service.ts'
import { Limits } from '../limits/service.ts'
import { Model } from '../model/service.ts'
import { requireToken } from './bearer/require-token.ts'
import { smartSection } from './config.ts'
import * as errors from './errors.ts'
import { requirePublicUrl } from './require-public-url.ts'
import { authorizeByScopes } from './scopes/authorize-by-scopes.ts'
import * as scopeErrors from './scopes/errors.ts'
import { smartMigrations } from './tables.ts'

export default definePlugin({
  name: 'smart',
  description: 'Asks callers for an access token, and issues them: SMART App Launch',
  // Of [server] it reads what the kernel declares.
  config: { smart: smartSection, server: Type.Object({}) },
  needs: { database: Database, fhir: Fhir, model: Model },
  uses: [Limits],
  migrations: smartMigrations,
  errors: { ...errors, ...scopeErrors },
  enabled: ({ smart }) => smart.enabled,
  setup({ config: { server }, hooks, needs: { model } }) {
    requirePublicUrl(server as { bind: string; public_url?: string })
    hooks.admit.tap('a token is required', requireToken)
    authorizeByScopes(hooks, model)
  },
})
