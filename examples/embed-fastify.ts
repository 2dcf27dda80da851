/**
 * The server inside your Fastify app, under /fhir: links, Location and fullUrl carry the prefix. It starts when the app
 * does, answers 503 until it is ready, and stops with `app.close()`, after the requests in flight. When a plugin
 * reports that the server cannot continue, `kernel.failed` resolves: then all requests under /fhir get 503 until you
 * start another kernel. Set [server] public_url to the URL of the mount, so that absolute references under it are the
 * server's own. In your own package, import from 'refhir' and 'refhir/plugins'. Try it: node examples/embed-fastify.ts
 */
import fastify, { type FastifyInstance } from 'fastify'
import { asksForWebSocket, createKernel, type Kernel, type KernelOptions } from '../kernel/index.ts'
import { firstParty } from '../plugins/index.ts'

export const createApp = async (
  options: KernelOptions = { plugins: firstParty, settings: { database: { kind: 'memory' } } },
): Promise<{ readonly app: FastifyInstance; readonly kernel: Kernel }> => {
  const kernel = await createKernel(options)
  // Without this callback Node passes every request with an `Upgrade` header to the listener of `upgrade`, whatever its
  // protocol.
  const app = fastify({ http: { shouldUpgradeCallback: asksForWebSocket } })
  app.get('/', async () => 'This is the app; FHIR is at /fhir.\n')
  app.register(kernel.fastify, { prefix: '/fhir' })
  // All connections go to the app's router. If you have WebSockets of your own, pass on only those whose URL begins
  // with the prefix.
  app.server.on('upgrade', kernel.upgrade)
  return { app, kernel }
}

if (import.meta.main) {
  const { app, kernel } = await createApp()
  console.log(`${await app.listen({ port: 3000 })}/fhir/readyz`)
  await kernel.start() // the app has started it already; this waits for the result
  console.log('ready')
}
