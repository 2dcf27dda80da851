/** What `server import` runs, in a process of its own: a server without a port, and the service that stores files. */
import { createKernel, type Kernel } from '../../../kernel/index.ts'
import { Importing } from '../../../plugins/import/service.ts'
import { housePlugins, type Settings, settingsFor } from '../plugins.ts'
import { answerWith } from './answer.ts'

let kernel: Kernel | undefined

answerWith({
  async start(wanted: Settings) {
    kernel = await createKernel({
      plugins: housePlugins,
      settings: settingsFor(housePlugins, wanted),
      log: { level: 'silent' },
    })
    await kernel.start()
  },
  /** Stores a file. Its index rows are in their tables when the time ends. */
  async run(path: string) {
    if (kernel === undefined) throw new Error('not started')
    const before = process.cpuUsage()
    const startedAt = performance.now()
    const { resources, failed } = await kernel
      .get(Importing)
      .run({ paths: [path], isDryRun: false, isAgain: false, parallel: 4 }, {})
    const { statusCode } = await kernel.inject('/Observation?status=entered-in-error&_count=1')
    if (failed > 0 || statusCode !== 200) throw new Error(`${failed} records were refused; a search is ${statusCode}`)
    const { user, system } = process.cpuUsage(before)
    return { done: resources, seconds: (performance.now() - startedAt) / 1000, micros: user + system }
  },
  stop: () => kernel?.stop(),
})
