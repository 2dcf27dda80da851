/** A server with live queries on the definitions that tests of writes need, in a process of its own. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import sync from '../../../plugins/sync/index.ts'
import { type Clinic, clinicWith } from '../../server/writes/clinic.ts'
import { answerWith } from './answer.ts'

let clinic: Clinic | undefined

answerWith({
  async start() {
    clinic = await clinicWith({ server: { bind: '127.0.0.1:0' } }, [sync])
    return clinic.server.listen()
  },
  /** Bytes of the heap that are in use. */
  heap() {
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
    return process.memoryUsage().heapUsed
  },
  stop: () => clinic?.stop(),
})
