/**
 * The server inside a Fastify app of yours, under /fhir: links, Location and fullUrl carry the prefix. It starts when the
 * app does, answers 503 until it is ready, and stops with `app.close()`, after the requests in flight. When a plugin finds that
 * the server cannot go on, `kernel.failed` resolves: then all under /fhir is 503 until you start another kernel.
 * Set [server] public_url to the URL of the mount, so that absolute references under it are the server's own.
 * Elsewhere, import from 'refhir' and 'refhir/plugins'. Try it: node examples/embed-fastify.ts
 */
import fastify, { type FastifyInstance } from 'fastify'
import { asksForWebSocket, createKernel, type Kernel, type KernelOptions } from '../kernel/index.ts'
import { firstParty } from '../plugins/index.ts'

export const createApp = async (
  options: KernelOptions = { plugins: firstParty, settings: { database: { kind: 'memory' } } },
): Promise<{ readonly app: FastifyInstance; readonly kernel: Kernel }> => {
  const kernel = await createKernel(options)
  // With a listener for `upgrade` Node would otherwise hand out every connection whose client offers any protocol.
  const app = fastify({ http: { shouldUpgradeCallback: asksForWebSocket } })
  app.get('/', async () => 'This is the app; FHIR is at /fhir.\n')
  app.register(kernel.fastify, { prefix: '/fhir' })
  // All go to the router of the app. WebSockets of your own: pass on those whose URL begins with the prefix, and no others.
  app.server.on('upgrade', kernel.upgrade)
  return { app, kernel }
}

if (import.meta.main) {
  const { app, kernel } = await createApp()
  console.log(`${await app.listen({ port: 3000 })}/fhir/readyz`)
  await kernel.start() // begun by the app; whoever awaits it learns whether it went well
  console.log('ready')
}
