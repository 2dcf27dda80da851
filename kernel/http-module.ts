/**
 * Node's http module. `import { … } from 'node:http'` reads all that the module has, and to read its WebSocket loads the
 * client that is behind fetch: 40 ms of CPU time and 3 MB in each process and in each thread.
 */
export const httpModule = process.getBuiltinModule('node:http')
