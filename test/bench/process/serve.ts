/** A measured process that is a server, with its defaults, as a parent asks for it in `house.ts`. */
import { type AnyPlugin, createKernel, type Kernel } from '../../../kernel/index.ts'
import { type Settings, settingsFor } from '../plugins.ts'
import { type Answers, answerWith } from './answer.ts'

/** `started` is called once it is ready. `answers` are those to further questions. */
export const serveWith = (
  plugins: readonly AnyPlugin[],
  { started = () => undefined, answers = {} }: { started?: (kernel: Kernel) => void; answers?: Answers } = {},
): void => {
  let kernel: Kernel | undefined
  answerWith({
    ...answers,
    async start(wanted: Settings) {
      kernel = await createKernel({ plugins, settings: settingsFor(plugins, wanted) })
      const address = await kernel.listen()
      await kernel.start()
      started(kernel)
      return address
    },
    stop: () => kernel?.stop(),
  })
}
