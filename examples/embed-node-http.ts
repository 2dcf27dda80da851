/**
 * The server behind a node:http server of yours, beside pages of your own. It answers 503 until `kernel.start()` is done.
 * Set [server] public_url to the URL of the mount, so that absolute references under it are the server's own.
 * Elsewhere, import from 'refhir' and 'refhir/plugins'. Try it: node examples/embed-node-http.ts
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { asksForWebSocket, createKernel, type Kernel, type KernelOptions } from '../kernel/index.ts'
import { firstParty } from '../plugins/index.ts'

export interface Site {
  readonly server: Server
  readonly kernel: Kernel
  stop(): Promise<void>
}

export const createSite = async (
  options: KernelOptions = { plugins: firstParty, settings: { database: { kind: 'memory' } } },
): Promise<Site> => {
  const kernel = await createKernel(options)
  // With a listener for `upgrade` Node would otherwise hand out every connection whose client offers any protocol.
  const server = createServer({ shouldUpgradeCallback: asksForWebSocket }, (request, response) => {
    if (request.url === '/') response.end('This is the site; FHIR is at /metadata.\n')
    else kernel.handler(request, response)
  })
  server.on('upgrade', kernel.upgrade)
  const stop = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close() // takes nothing new; what is in flight goes on
    await kernel.stop() // finishes it, then stops the plugins it stood on
    await closed
  }
  return { server, kernel, stop }
}

if (import.meta.main) {
  const { server, kernel } = await createSite()
  server.listen(3000, '127.0.0.1')
  await kernel.start()
  console.log('http://127.0.0.1:3000/metadata')
}
