/**
 * Requests that another server answers: the body of a request to /_documents goes to an archive as it arrives, and the
 * archive's answer goes back in the same way. Authentication and limits apply here first. The route has `relay: true`,
 * so that the hook `relay` is called for it; earlier hooks see this in `request.relays`. In a package of its own this
 * plugin imports from 'refhir'.
 */
import { request as ask, type IncomingHttpHeaders } from 'node:http'
import { pipeline } from 'node:stream'
import { Type } from 'typebox'
import { defineError, definePlugin, type Reply, type RequestContext } from '../kernel/index.ts'

const PATH = '/_documents'
const SILENCE_MS = 30_000 // milliseconds without a byte after which the archive counts as unreachable
const ASKED = ['content-type', 'content-length', 'accept'] as const
const ANSWERED = ['content-type', 'content-length', 'location', 'set-cookie'] as const

const ArchiveAway = defineError('archive/away', 503, 'transient', 'The archive cannot be reached. Try again.')
const NoArchive = defineError(
  'archive/none',
  503,
  'not-supported',
  'This server has no archive; set [plugin.archive] url.',
)

/** The headers to pass on; those that concern one connection are left out. */
const picked = (headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string | string[]> =>
  Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])))

const send = (request: RequestContext, url: string): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { method, headers, signal, body } = request
    const sent = ask(url, { method, headers: picked(headers, ASKED), signal })
    sent.setTimeout(SILENCE_MS, () => sent.destroy(new Error('the archive is silent')))
    sent.on('error', (error) => reject(ArchiveAway().with({ cause: error })))
    sent.on('response', (answer) =>
      resolve({ status: answer.statusCode ?? 502, headers: picked(answer.headers, ANSWERED), body: answer }),
    )
    if (body === undefined) sent.end()
    else pipeline(body.take(), sent, () => undefined) // an error of either stream is reported by `sent`
  })

export default definePlugin({
  name: 'archive',
  description: 'Passes documents on to an archive',
  api: '^2.0.0',
  config: {
    archive: Type.Object({
      url: Type.Optional(Type.String({ pattern: '^http://', description: 'URL that documents are sent to.' })),
    }),
  },
  errors: { ArchiveAway, NoArchive },
  setup({ config: { archive }, hooks, routes }) {
    const { url } = archive
    hooks.relay.tapPromise('send to the archive', async (request) =>
      url === undefined || request.route !== PATH ? undefined : send(request, url),
    )
    routes((app, _options, done) => {
      app.route({
        method: ['GET', 'POST'],
        url: PATH,
        config: { relay: true, requestClass: 'write' },
        handler: async () => {
          throw NoArchive()
        },
      })
      done()
    })
  },
})
