/** Where the pages of this server are: paths from the root of its host, so that they lead to the server that was asked. */
import type { RequestContext } from '../../kernel/index.ts'

export interface Links {
  /** Path of the root, without a slash at its end. */
  readonly root: string
  /** The page of a path below the root: `Patient/1`. */
  to(path: string): string
  /** The page of an absolute URL that begins with the base of this server; undefined for all others. */
  ofUrl(url: string): string | undefined
  /** The page of a literal reference, relative or absolute under the base; undefined for all others. */
  ofReference(reference: string): string | undefined
}

const LITERAL = /^[A-Z][A-Za-z]{1,63}\/[A-Za-z0-9.-]{1,64}(?:\/_history\/[A-Za-z0-9.-]{1,64})?$/

export const createLinks = ({ baseUrl }: Pick<RequestContext, 'baseUrl'>): Links => {
  // Where the Host header is refused, `baseUrl` is no URL.
  const root = (URL.parse(baseUrl)?.pathname ?? '').replace(/\/+$/, '')
  const to = (path: string): string => `${root}/${path}`
  const ofUrl = (url: string): string | undefined => {
    if (!url.startsWith(`${baseUrl}/`) && !url.startsWith(`${baseUrl}?`)) return undefined
    const rest = url.slice(baseUrl.length)
    // Two slashes at the beginning of a path name a host.
    return root === '' && /^\/[/\\]/.test(rest) ? undefined : `${root}${rest}`
  }
  return {
    root,
    to,
    ofUrl,
    ofReference(reference) {
      if (LITERAL.test(reference)) return to(reference)
      const own = reference.startsWith(`${baseUrl}/`) ? reference.slice(baseUrl.length + 1) : ''
      return LITERAL.test(own) ? to(own) : undefined
    },
  }
}

/** An http or https URL that may be followed, or undefined. `javascript:` and the like are no links. */
export const webUrl = (text: string): string | undefined => {
  if (!/^https?:\/\/[^\s<>"'\\]+$/i.test(text)) return undefined
  const url = URL.parse(text)
  return url !== null && url.username === '' && url.password === '' ? text : undefined
}
