/**
 * The server behind your node:http server, beside your own pages. It answers 503 until `kernel.start()` is done. Set
 * [server] public_url to the URL of the mount, so that absolute references under it are the server's own. In your own
 * package, import from 'refhir' and 'refhir/plugins'. Try it: node examples/embed-node-http.ts
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
  // Without this callback Node passes every request with an `Upgrade` header to the listener of `upgrade`, whatever its
  // protocol.
  const server = createServer({ shouldUpgradeCallback: asksForWebSocket }, (request, response) => {
    if (request.url === '/') response.end('This is the site; FHIR is at /metadata.\n')
    else kernel.handler(request, response)
  })
  server.on('upgrade', kernel.upgrade)
  const stop = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close() // accepts no new connections; requests in flight continue
    await kernel.stop() // waits for them, then stops the plugins
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
