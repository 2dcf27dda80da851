/** Who hears of a COMMIT finds what was written, also before the client is answered: memory is as new as the database. */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import type { CommitParticipant } from '../../../plugins/database/service.ts'
import { Resources } from '../../../plugins/fhir/service.ts'
import { basic, serverWith } from '../../support/server-with.ts'

interface Written {
  readonly id: string
  readonly version: number
}

test('a participant that reads once its COMMIT is finished reads the new version, by its number and as the current one', async () => {
  const read: Promise<string>[] = []
  const reading = definePlugin({
    name: 'reading',
    needs: { resources: Resources },
    setup({ hooks, needs: { resources } }) {
      const session = resources.as({ kind: 'internal', purpose: 'test' })
      const readBoth = async ({ id, version }: Written): Promise<string> => {
        const [named, current] = [await session.read('Patient', id, version), await session.read('Patient', id)]
        // The next change may have been committed by then.
        return `${named.version - version} ${current.version >= version}`
      }
      let written: readonly Written[] = []
      const participant: CommitParticipant<Written> = {
        beforeCommit(_transaction, items) {
          written = items
        },
        finished(committed) {
          if (committed) for (const one of written) read.push(readBoth(one).catch((error) => String(error)))
        },
        refuse: () => {
          throw new Error('unreachable')
        },
      }
      hooks.onWrite.tap('note', ({ next: { id, version }, transaction }) =>
        transaction.beforeCommit(participant, { id, version }),
      )
    },
  })
  const server = await serverWith({
    plugins: [...basic, reading],
    settings: { conformance: { update_as_create: true } },
  })
  const headers = { 'content-type': 'application/fhir+json' }
  for (let n = 0; n < 10; n += 1) {
    const payload = JSON.stringify({ resourceType: 'Patient', id: 'a', name: [{ family: `n${n}` }] })
    assert.ok((await server.inject({ method: 'PUT', url: '/Patient/a', headers, payload })).statusCode < 300)
    await server.inject('/Patient/a')
  }
  assert.equal(
    await Promise.all(read),
    Array.from({ length: 10 }, () => '0 true'),
  )
  await server.stop()
})

test.run()
