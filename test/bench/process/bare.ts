/** The denominator of reads and of the CPU of a create: bare Fastify that sends the same bytes and headers. */
import fastify, { type FastifyInstance } from 'fastify'
import { answerWith } from './answer.ts'

export interface Canned {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** As text: the quickest way Fastify has to send it. */
  readonly body: string
}

let app: FastifyInstance | undefined

answerWith({
  /** Answers of the server under test, by path; and a POST that parses the body and sends it back as text. */
  async start({ canned, created }: { canned: readonly Canned[]; created: Readonly<Record<string, string>> }) {
    app = fastify({ logger: false })
    const byPath = new Map(canned.map((one) => [one.path, one]))
    app.get('/:type/:id', (request, reply) => {
      const found = byPath.get(request.raw.url as string)
      if (found === undefined) return reply.code(404).send()
      return reply.headers(found.headers).send(found.body)
    })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/fhir+json', { parseAs: 'string' }, (_request, text, parsed) =>
      parsed(null, JSON.parse(text as string)),
    )
    app.post('/:type', (request, reply) => reply.code(201).headers(created).send(JSON.stringify(request.body)))
    return app.listen({ host: '127.0.0.1', port: 0 })
  },
  stop: () => app?.close(),
})
