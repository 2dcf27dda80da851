/** The server under test, as it is shipped, in a process of its own. */
import { createKernel, type Kernel } from '../../../kernel/index.ts'
import { housePlugins, settingsOf } from '../plugins.ts'
import { answerWith } from './answer.ts'

let kernel: Kernel | undefined

answerWith({
  async start(wanted: Record<string, Record<string, unknown>>) {
    const plugins = await housePlugins()
    kernel = await createKernel({ plugins, settings: settingsOf(plugins, wanted) })
    const address = await kernel.listen()
    await kernel.start()
    return address
  },
  stop: () => kernel?.stop(),
})
