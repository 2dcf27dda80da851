/** The server under test as if the plugin trace was not written, in a process of its own. */
import { createKernel, type Kernel } from '../../../kernel/index.ts'
import trace from '../../../plugins/trace/index.ts'
import { housePlugins, type Settings, settingsFor } from '../plugins.ts'
import { answerWith } from './answer.ts'

const plugins = housePlugins.filter((one) => one !== trace)
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
