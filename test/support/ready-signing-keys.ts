/**
 * Signing keys that the plugin `smart` finds in a new database, as in one that a server had before: making two takes as
 * long as the rest of a start. `test/cli/smart.test.ts` has servers that make their own.
 */
import { createPublicKey } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../../plugins/database/service.ts'
import { seal } from '../../plugins/smart/keys/seal.ts'
import { ALG } from '../../plugins/smart/keys/signing-key.ts'
import { insertKey, listKeys } from '../../plugins/smart/tables.ts'
import { rsaKey } from './rsa-keys.ts'

const STATES = ['active', 'next'] as const

export const readySigningKeys = definePlugin({
  name: 'ready-signing-keys',
  needs: { database: Database },
  setup: ({ needs: { database }, clock }) => ({
    async start() {
      if (database.isReader || (await database.all(listKeys, [])).length > 0) return
      const rows = await Promise.all(
        STATES.map(async (state, at) => {
          const key = rsaKey(at)
          const kid = await calculateJwkThumbprint(createPublicKey(key).export({ format: 'jwk' }) as { kty: string })
          const sealed = await seal(key.export({ format: 'der', type: 'pkcs8' }), kid, undefined)
          return [kid, ALG, sealed, state, clock.now()] as const
        }),
      )
      await database.transact(async (transaction) => {
        for (const row of rows) await transaction.run(insertKey, row)
      })
    },
  }),
})
