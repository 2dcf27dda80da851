/** Answers errors in XML where XML is asked for, and lets caches know of both forms. */
import type { FastifyInstance } from 'fastify'
import { withVary } from '../../../kernel/index.ts'
import { FHIR_JSON, FHIR_XML } from '../http/media.ts'
import type { XmlConversion } from './conversion.ts'
import { XML_HEADERS } from './xml-answer.ts'
import { xmlFormOf } from './xml-form.ts'

/** `xml` throws until the server has started. An OperationOutcome that cannot be written as XML stays JSON. */
export const answerErrorsInXml = (app: FastifyInstance, xml: () => Pick<XmlConversion, 'write'>): void => {
  app.addHook('onError', (request, _reply, _error, done) => {
    // The hook of the kernel, which compresses, comes before the one below, which needs the text.
    if (xmlFormOf(request) !== undefined) delete request.raw.headers['accept-encoding']
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode < 400 || reply.getHeader('content-type') !== FHIR_JSON) return done(null, payload)
    // The hook of the kernel has set what else the answer varies by.
    const others = reply.getHeader('vary')
    reply.header('vary', others === undefined ? 'accept' : withVary('accept', String(others)))
    const form = xmlFormOf(request)
    if (form === undefined || typeof payload !== 'string') return done(null, payload)
    const write = async (): Promise<string | Buffer> => {
      try {
        // Not by the signal of the request, which aborts when the client has left.
        const written = await xml().write({ signal: undefined }, payload, form.pretty)
        reply.header('content-type', FHIR_XML)
        for (let at = 0; at < XML_HEADERS.length; at += 2)
          reply.header(XML_HEADERS[at] as string, XML_HEADERS[at + 1] as string)
        return written
      } catch {
        return payload
      }
    }
    write().then((written) => done(null, written), done)
  })
}
