/** What the console shows of the database and of other servers: the overview, and jobs by pages. */
// memory: long reads have no thread of their own there
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { Jobs } from '../../plugins/jobs/service.ts'
import { addJob, clockOfConsole, FHIR, get, hrefsOf, pageOf, textOf, withServer } from '../support/console-server.ts'
import { chosenKind } from '../support/database-kinds.ts'
import { foreignMarkup } from '../support/hostile-texts.ts'

test('the overview shows version, status, role, database, uptime, memory, and the resources counted once a minute', () =>
  withServer(async (server) => {
    const create = (type: string) => {
      const contained = type === 'Practitioner' ? [{ resourceType: 'Patient', id: 'inside' }] : undefined
      const payload = JSON.stringify({ resourceType: type, contained })
      return server.inject({ method: 'POST', url: `/${type}`, headers: FHIR, payload })
    }
    const { id } = (await create('Patient')).json() as { id: string }
    for (const type of ['Patient', 'Patient', 'Practitioner']) assert.is((await create(type)).statusCode, 201)
    assert.is((await server.inject({ method: 'DELETE', url: `/Patient/${id}` })).statusCode, 204)
    await clockOfConsole()?.leap(3 * 3_600_000 + 60_000)
    await addJob(server, 'a'.repeat(32), 'app')
    const first = textOf(await pageOf(server, '/_console'))
    assert.match(first, /Status ok Role primary Version \d+\.\d+\.\d+\S*, Node\.js v\d+/)
    assert.match(first, /Running for 3 h 1 min/)
    assert.match(first, /Memory [\d.,]+ [GM]B of the process/)
    assert.match(first, new RegExp(`Database ${chosenKind.name} `))
    assert.match(first, /3 resources, counted at 2026-01-15 15:01:00 UTC/)
    assert.match(first, /Patient 2 Practitioner 1 /, 'deleted and contained resources are not counted')
    assert.match(first, /Jobs that run or wait 1 job; times in UTC .* test queued app/)
    assert.is(/Servers of the database 1 server .* primary /.test(first), chosenKind.name === 'postgres')
    await create('Patient')
    assert.match(textOf(await pageOf(server, '/_console')), /3 resources, counted at 2026-01-15 15:01:00/)
    await clockOfConsole()?.advance(60_000)
    assert.match(textOf(await pageOf(server, '/_console')), /4 resources, counted at 2026-01-15 15:02:00/)
  }))

test('jobs are listed newest first in pages, and one is shown without its specification', () =>
  withServer(async (server) => {
    assert.match(textOf(await pageOf(server, '/_console/jobs')), /No jobs/)
    const idOf = (n: number): string => String(n).padStart(32, '0')
    for (let n = 0; n < 52; n += 1) {
      await clockOfConsole()?.advance(1_000)
      await addJob(server, idOf(n), 'lab')
    }
    const links = (page: string) => hrefsOf(page).filter((href) => /^\/_console\/jobs\/\d/.test(href))
    const first = await pageOf(server, '/_console/jobs')
    assert.is(links(first).length, 50)
    assert.is(links(first)[0], `/_console/jobs/${idOf(51)}`)
    const next = hrefsOf(first).find((href) => href.includes('after='))
    assert.equal(links(await pageOf(server, next as string)), [
      `/_console/jobs/${idOf(1)}`,
      `/_console/jobs/${idOf(0)}`,
    ])
    await server.get(Jobs).cancel(idOf(1))
    const one = await pageOf(server, `/_console/jobs/${idOf(1)}`)
    assert.match(textOf(one), /Kind test State cancelled Attempts 0 Client lab Created 2026-01-15 12:00:02 Ended/)
    assert.not.match(textOf(one), /patients/)
    for (const id of [idOf(99), 'x', '%3Cscript%3E']) {
      const { statusCode, body } = await get(server, `/_console/jobs/${id}`)
      assert.is(statusCode, 404)
      assert.equal(foreignMarkup(body), [])
    }
  }))

test.run()
