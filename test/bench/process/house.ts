/** The server under test, as it is shipped, in a process of its own. */
import { housePlugins } from '../plugins.ts'
import { serveWith } from './serve.ts'

serveWith(housePlugins)
