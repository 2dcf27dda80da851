import type { InteractionRequest } from './request.ts'

/** The query of an address, without the question mark. */
export const queryOf = (url: string): string => {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

/** The query as it was sent: that of the address, then that of the form. */
export const queryIn = ({ url, body }: Pick<InteractionRequest, 'url' | 'body'>): string => {
  if (!(body instanceof Uint8Array)) return queryOf(url)
  return [queryOf(url), Buffer.from(body).toString('utf8')].filter((part) => part !== '').join('&')
}
