/** The server under test as if the plugin trace was not written, in a process of its own. */
import trace from '../../../plugins/trace/index.ts'
import { housePlugins } from '../plugins.ts'
import { serveWith } from './serve.ts'

serveWith(housePlugins.filter((one) => one !== trace))
