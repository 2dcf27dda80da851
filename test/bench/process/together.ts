/** The server under test without the writer lease: on PostgreSQL it shows nothing from memory that others may have changed. */
import { createKernel, type Kernel } from '../../../kernel/index.ts'
import { makeDatabasePlugin } from '../../../plugins/database/database-plugin.ts'
import { housePlugins, type Settings, settingsFor } from '../plugins.ts'
import { answerWith } from './answer.ts'

const plugins = housePlugins.map((one) => (one.name === 'database' ? makeDatabasePlugin({ hasLease: false }) : one))
let kernel: Kernel | undefined

answerWith({
  async start(wanted: Settings) {
    kernel = await createKernel({ plugins, settings: settingsFor(plugins, wanted) })
    const address = await kernel.listen()
    await kernel.start()
    return address
  },
  stop: () => kernel?.stop(),
})
