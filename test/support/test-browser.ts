/** A browser as far as logins need one: it keeps cookies, follows redirects inside the server, and submits forms. */
import type { LightMyRequestResponse } from 'fastify'
import type { AnsweringServer } from './server-with.ts'
import { FORM, ISSUER } from './smart-server.ts'

export interface BrowserPage {
  readonly status: number
  /** URL of the page, or of the redirect out of the server. */
  readonly url: string
  readonly body: string
  readonly headers: LightMyRequestResponse['headers']
  /** True where the server redirected to another site. */
  readonly hasLeft: boolean
}

export interface TestBrowser {
  readonly cookies: Map<string, string>
  /** Loads a URL of the server, or a path. */
  open(url: string): Promise<BrowserPage>
  /** Posts to a URL without a page around it. */
  post(url: string, form: FormFields, headers?: Readonly<Record<string, string>>): Promise<BrowserPage>
  /** Submits the form of a page that has this field or button, with its hidden fields and checked boxes. */
  submit(page: BrowserPage, fields: FormFields): Promise<BrowserPage>
}

export type FormFields = Readonly<Record<string, string | readonly string[]>>

const MAX_REDIRECTS = 10

const decoded = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

const attribute = (tag: string, name: string): string | undefined => {
  const found = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return found === undefined ? undefined : decoded(found)
}

const encoded = (fields: FormFields): string => {
  const all = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) for (const one of [value].flat()) all.append(name, one as string)
  return all.toString()
}

/** What the form sends by itself: hidden inputs, and boxes that are checked. */
const ownFields = (form: string): FormFields => {
  const fields: Record<string, string[]> = {}
  for (const [tag] of form.matchAll(/<input\b[^>]*>/g)) {
    const type = attribute(tag, 'type')
    const name = attribute(tag, 'name')
    const isSent = type === 'hidden' || (type === 'checkbox' && /\schecked\b/.test(tag))
    if (name !== undefined && isSent) fields[name] = [...(fields[name] ?? []), attribute(tag, 'value') ?? '']
  }
  return fields
}

const hasField = (form: string, name: string): boolean =>
  [...form.matchAll(/<(?:input|button)\b[^>]*>/g)].some(([tag]) => attribute(tag, 'name') === name)

export const createTestBrowser = (server: AnsweringServer): TestBrowser => {
  const cookies = new Map<string, string>()
  const keep = (set: string | string[] | number | undefined): void => {
    for (const line of [set ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(String(line)) ?? []
      if (/Max-Age=0(;|$)/.test(String(line))) cookies.delete(name)
      else cookies.set(name, value)
    }
  }
  const load = async (
    method: 'GET' | 'POST',
    url: string,
    body: string | undefined,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<BrowserPage> => {
    let next: { method: 'GET' | 'POST'; url: string; body: string | undefined } = { method, url, body }
    for (let turn = 0; turn < MAX_REDIRECTS; turn += 1) {
      const path = next.url.startsWith(ISSUER) ? next.url.slice(ISSUER.length) : next.url
      const answer = await server.inject({
        method: next.method,
        url: path,
        headers: {
          ...(cookies.size > 0 && { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
          ...(next.body !== undefined && { 'content-type': FORM }),
          ...headers,
        },
        ...(next.body !== undefined && { payload: next.body }),
      })
      keep(answer.headers['set-cookie'])
      const { location } = answer.headers
      const page = { status: answer.statusCode, body: answer.body, headers: answer.headers }
      if (location === undefined) return { ...page, url: next.url, hasLeft: false }
      if (!location.startsWith(ISSUER)) return { ...page, url: location, hasLeft: true }
      next = { method: 'GET', url: location, body: undefined }
    }
    throw new Error(`too many redirects from ${url}`)
  }
  return {
    cookies,
    open: (url) => load('GET', url, undefined),
    post: (url, form, headers) => load('POST', url, encoded(form), headers),
    submit(page, fields) {
      const forms = [...page.body.matchAll(/<form\b[^>]*method="post"[^>]*>[\s\S]*?<\/form>/g)].map(([form]) => form)
      const form = forms.find((one) => Object.keys(fields).some((name) => hasField(one, name)))
      if (form === undefined)
        throw new Error(`no form for ${Object.keys(fields).join(', ')} on ${page.url}: ${page.body}`)
      const action = new URL(attribute(form, 'action') ?? '', ISSUER)
      return load('POST', action.href, encoded({ ...ownFields(form), ...fields }))
    },
  }
}
