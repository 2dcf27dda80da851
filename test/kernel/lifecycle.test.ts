/** `prepare` beside the starts of others, and `handOver` beside the requests in flight: order, deadlines, who failed. */
import { once } from 'node:events'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin, Lifecycle } from '../../kernel/index.ts'
import { createDeadlines } from '../support/deadlines.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'
import { listening } from '../support/listening.ts'

const FINISH_MS = 8_000
const STEPS = ['prepare', 'start', 'handOver', 'stop'] as const

/** Plugins that note each step they are asked for, also those that do nothing there. */
const noting = (lifecycles: Readonly<Record<string, Lifecycle>>) => {
  const notes: string[] = []
  const plugins: AnyPlugin[] = Object.entries(lifecycles).map(([name, lifecycle]) =>
    pluginOf(name, () =>
      Object.fromEntries(
        STEPS.map((step) => [
          step,
          (signal: AbortSignal): Promise<void> => {
            notes.push(`${name} ${step}`)
            return lifecycle[step]?.(signal) ?? Promise.resolve()
          },
        ]),
      ),
    ),
  )
  return { notes, plugins }
}

const refused = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was refused'
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
}

test('all prepare in order beside a start that waits; each starts after it has prepared', async () => {
  const lease = Promise.withResolvers<void>()
  const read = Promise.withResolvers<void>()
  const { notes, plugins } = noting({
    database: { start: () => lease.promise },
    packages: { prepare: () => read.promise },
    fhir: {},
  })
  const { kernel } = await kernelWith(plugins)
  const starting = kernel.start()
  await turns()
  assert.equal(notes.toSorted(), ['database prepare', 'database start', 'packages prepare'])
  lease.resolve()
  await turns()
  assert.is(notes.length, 3, 'packages has not prepared')
  read.resolve()
  await starting
  assert.ok(notes.indexOf('fhir prepare') > notes.indexOf('packages prepare'))
  assert.ok(notes.indexOf('fhir prepare') < notes.indexOf('fhir start'))
  assert.equal(
    notes.filter((note) => note.endsWith('start')),
    ['database start', 'packages start', 'fhir start'],
  )
  await kernel.stop()
})

test('a prepare that fails ends the start at once, by name, while another start waits; all are stopped', async () => {
  const { notes, plugins } = noting({
    database: { start: (signal) => once(signal, 'abort').then(() => undefined) },
    packages: { prepare: () => Promise.reject(new Error('no such file')) },
    fhir: {},
  })
  const { kernel } = await kernelWith(plugins)
  assert.is(await refused(() => kernel.start()), 'The plugin "packages" cannot prepare its start: no such file')
  assert.is(kernel.phase, 'failed')
  assert.equal(
    notes.filter((note) => !note.endsWith('prepare')),
    ['database start', 'packages stop', 'database stop'],
  )
  assert.not.ok(notes.includes('fhir prepare'))
})

test('a stop while somebody prepares aborts the signal, waits, and starts nobody', async () => {
  const begun = Promise.withResolvers<void>()
  const { notes, plugins } = noting({
    packages: {
      prepare: async (signal) => {
        begun.resolve()
        await once(signal, 'abort')
        throw new Error('gave up')
      },
    },
    fhir: {},
  })
  const { kernel } = await kernelWith(plugins)
  const starting = refused(() => kernel.start())
  await begun.promise
  await kernel.stop()
  assert.is(await starting, 'The server was stopped before it was ready.')
  assert.equal(notes, ['packages prepare', 'packages stop'])
})

test('at a stop all hand over in reverse beside the requests in flight, and stop when these have ended', async () => {
  const { notes, plugins } = noting({ database: {}, fhir: {} })
  const arrived = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<string>()
  const slow = pluginOf('slow', ({ routes }) =>
    routes(async (app) => {
      app.get('/slow', async () => {
        arrived.resolve()
        return answer.promise
      })
    }),
  )
  const { kernel, address } = await listening([...plugins, slow])
  notes.length = 0
  const asked = fetch(`${address}/slow`)
  await arrived.promise
  const stopping = kernel.stop()
  await turns()
  assert.equal(notes, ['fhir handOver', 'database handOver'])
  answer.resolve('done')
  assert.is(await (await asked).text(), 'done')
  await stopping
  assert.equal(notes, ['fhir handOver', 'database handOver', 'fhir stop', 'database stop'])
  assert.equal(kernel.failedToStop, [])
})

test('one that fails to hand over, or is not done in time, is logged by name; the next follows, and all stop', async () => {
  const deadlines = createDeadlines()
  const { notes, plugins } = noting({
    first: {},
    hanging: { handOver: () => new Promise(() => undefined) },
    failing: { handOver: () => Promise.reject(new Error('no')) },
  })
  const { kernel, lines } = await kernelWith(plugins, { clock: deadlines.clock })
  await kernel.start()
  notes.length = 0
  const stopping = kernel.stop()
  await turns()
  assert.equal(notes, ['failing handOver', 'hanging handOver'])
  deadlines.pass(FINISH_MS)
  await stopping
  assert.equal(notes.slice(2), ['first handOver', 'failing stop', 'hanging stop', 'first stop'])
  assert.equal(
    lines.filter(({ level }) => level === 'error').map(({ plugin, msg }) => [plugin, msg]),
    [
      ['failing', 'the plugin failed to hand over'],
      ['hanging', 'the plugin did not hand over in time'],
    ],
  )
  assert.equal([...kernel.failedToStop].toSorted(), ['failing', 'hanging'])
})

test('who has not started hands nothing over', async () => {
  const begun = Promise.withResolvers<void>()
  const { notes, plugins } = noting({
    database: {},
    fhir: {
      start: async (signal) => {
        begun.resolve()
        await once(signal, 'abort')
      },
    },
  })
  const { kernel } = await kernelWith(plugins)
  kernel.start().catch(() => undefined)
  await begun.promise
  await kernel.stop()
  assert.equal(
    notes.filter((note) => note.endsWith('handOver')),
    ['database handOver'],
  )
})

test.run()
