/** A client that leaves in the middle of a large Bundle: the work ends, and a transaction leaves nothing. */
// npm test: postgres, where transactions overlap
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AuditFact, definePlugin } from '../../../kernel/index.ts'
import { connectTo } from '../../support/raw-client.ts'
import { until } from '../../support/until.ts'
import { type Clinic, clinicWith, post } from './clinic.ts'

const ENTRIES = 3_000

const servers: Clinic[] = []
test.after(async () => {
  for (const one of servers) await one.stop()
})

for (const type of ['transaction', 'batch'])
  test(`a ${type} of ${ENTRIES} entries ends when its client leaves`, async () => {
    const facts: AuditFact[] = []
    let leave = (): void => undefined
    const listener = definePlugin({
      name: 'listener',
      setup({ hooks }) {
        hooks.onAudit.tap('keep', (fact) => void facts.push(fact))
        // The first entry is looked at: the client leaves now, and the server hears of it in one of the next turns.
        hooks.authorize.tap('leave', (_request, { kind }) => {
          if (kind === 'create') leave()
        })
      },
    })
    const clinic = await clinicWith({ server: { bind: '127.0.0.1:0' } }, [listener])
    servers.push(clinic)
    const client = await connectTo(await clinic.server.listen())
    leave = () => client.destroy()
    const entry = Array.from({ length: ENTRIES }, (_, n) => post({ resourceType: 'Basic', code: { text: `${n}` } }))
    const body = JSON.stringify({ resourceType: 'Bundle', type, entry })
    client.send(
      `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/fhir+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    await until(
      () => facts.some(({ interaction, status }) => interaction.kind === type && status === 503),
      20_000,
      'the refusal of the Bundle',
    )
    const { total } = (await clinic.ask('GET', '/Basic?_summary=count')).json
    assert.ok(type === 'transaction' ? total === 0 : total < ENTRIES, `${total} are stored`)
    assert.is((await clinic.ask('POST', '/Basic', { resourceType: 'Basic' })).status, 201)
  })

test.run()
