/** The server under test, as it is shipped, in a process of its own. */
import { createKernel, type Kernel } from '../../../kernel/index.ts'
import { housePlugins, type Settings, settingsFor } from '../plugins.ts'
import { answerWith } from './answer.ts'

let kernel: Kernel | undefined

answerWith({
  async start(wanted: Settings) {
    kernel = await createKernel({ plugins: housePlugins, settings: settingsFor(housePlugins, wanted) })
    const address = await kernel.listen()
    await kernel.start()
    return address
  },
  stop: () => kernel?.stop(),
})
