/**
 * The server under test, which notes when its feed of changes publishes each commit: by the monotonic clock of the machine,
 * so that times of two processes can be compared.
 */
import { ChangeFeed } from '../../../plugins/database/service.ts'
import { housePlugins } from '../plugins.ts'
import { serveWith } from './serve.ts'

let times: (readonly [seq: number, ms: number])[] = []

serveWith(housePlugins, {
  started: (kernel) =>
    void kernel.get(ChangeFeed).listen({
      name: 'bench',
      // CLOCK_MONOTONIC on Linux, in nanoseconds
      commit: ({ seq }) => void times.push([seq, Number(process.hrtime.bigint()) / 1e6]),
      gap: () => undefined,
    }),
  answers: {
    /** Milliseconds of each commit since the last time. */
    takeTimes() {
      const taken = times
      times = []
      return taken
    },
  },
})
