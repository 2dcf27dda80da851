/**
 * Presentations: other forms of what the server answers as JSON, such as a page for a browser. The request is performed
 * as the same request for JSON, so rulings, audit events and limits are the same, and its answer is put into the other
 * form before it is sent. Routes declare it with `presents`; refusals of unknown addresses are presented too.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RequestContext } from './context.ts'

export interface JsonAnswer {
  readonly request: RequestContext
  readonly status: number
  readonly type: string
  readonly body: string
}

export interface PresentedAnswer {
  /** They replace those of the answer. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Presentation {
  /** Media type of the form: `text/html`. */
  readonly type: string
  /**
   * URL and Accept of the same request for JSON, where this form is asked for; else undefined. Called for each GET and
   * HEAD, in front of the router too: it has no effect, waits for nothing and does not throw.
   */
  askForData(url: string, accept: string | undefined): { readonly url: string; readonly accept: string } | undefined
  /** The answer in this form; undefined to send it as it is. An error is logged, and the JSON is sent. */
  show(answer: JsonAnswer): PresentedAnswer | undefined
}

interface Asked {
  readonly presentation: Presentation
  /** Accept-Encoding as it was sent. */
  readonly codings: string | undefined
}

const JSON_TYPE = /^application\/(?:fhir\+)?json\b/

export interface Presentations {
  /** True for a request that is for the router, because a presentation may concern it. */
  concerns(request: IncomingMessage): boolean
  /** Makes the request one for JSON, where a presentation is asked for; true then. */
  begin(request: FastifyRequest): boolean
  /** Another server is asked for the form itself. What is returned undoes it, where that server is not asked after all. */
  leave(request: FastifyRequest): (() => void) | undefined
  /** The body in the form that was asked for; undefined where the answer stays as it is. */
  show(request: FastifyRequest, reply: FastifyReply, body: unknown): string | undefined
}

/** Null where no plugin has one. */
export const createPresentations = (all: readonly Presentation[]): Presentations | null => {
  if (all.length === 0) return null
  const asked = new WeakMap<IncomingMessage, Asked>()

  /**
   * Sets the Accept-Encoding of the request, or removes it. It is removed while the data is answered, because a page is made of
   * uncompressed data, and set again for the page.
   */
  const setCodings = ({ headers }: IncomingMessage, codings: string | undefined): void => {
    if (codings === undefined) delete headers['accept-encoding']
    else headers['accept-encoding'] = codings
  }

  const find = ({ method, url = '', headers }: IncomingMessage) => {
    if (method !== 'GET' && method !== 'HEAD') return undefined
    for (const presentation of all) {
      const data = presentation.askForData(url, headers.accept)
      if (data !== undefined) return { presentation, data }
    }
    return undefined
  }

  return {
    concerns: (request) => find(request) !== undefined,
    begin({ raw, routeOptions }) {
      // An address that no route has is answered by the kernel.
      if (routeOptions.url !== undefined && routeOptions.config.presents !== true) return false
      const found = find(raw)
      if (found === undefined) return false
      asked.set(raw, {
        presentation: found.presentation,
        codings: raw.headers['accept-encoding'] as string | undefined,
      })
      setCodings(raw, undefined)
      raw.url = found.data.url
      raw.headers.accept = found.data.accept
      return true
    },
    leave({ raw }) {
      const own = asked.get(raw)
      if (own === undefined) return undefined
      const { accept } = raw.headers
      raw.headers.accept = own.presentation.type
      setCodings(raw, own.codings)
      asked.delete(raw)
      return () => {
        raw.headers.accept = accept
        setCodings(raw, undefined)
        asked.set(raw, own)
      }
    },
    show(request, reply, body) {
      const own = asked.get(request.raw)
      if (own === undefined) return undefined
      setCodings(request.raw, own.codings)
      const type = reply.getHeader('content-type')
      if (typeof type !== 'string' || !JSON_TYPE.test(type)) return undefined
      if (typeof body !== 'string' && !Buffer.isBuffer(body)) return undefined
      if (reply.getHeader('content-encoding') !== undefined) return undefined
      try {
        const answer = { request: request.ctx, status: reply.statusCode, type, body: body.toString() }
        const shown = own.presentation.show(answer)
        if (shown === undefined) return undefined
        reply.removeHeader('content-length')
        reply.removeHeader('content-disposition')
        for (const [name, value] of Object.entries(shown.headers)) reply.header(name, value)
        return shown.body
      } catch (error) {
        request.ctx.log.error({ err: error }, 'an answer could not be presented')
        return undefined
      }
    },
  }
}
