/** Hosts and directories that the operator has listed, from which $import may read files. */
import { isAbsolute, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ImportSourceRefused, ImportUrl, SourceSetting } from './errors.ts'

const SHOWN = 200 // characters of a URL in messages

/** A file that may be read. `directory`: the listed one; opening the file checks whether a link leads out of it. */
export type AllowedFile =
  | { readonly kind: 'https'; readonly url: URL; readonly isInside: boolean }
  | { readonly kind: 'file'; readonly path: string; readonly directory: string }

export interface AllowedSources {
  readonly isEmpty: boolean
  /** Throws `ImportUrl` and `ImportSourceRefused`. */
  find(text: string): AllowedFile
}

/** The URL as messages show it: queries hold keys of storage services. */
export const shownUrl = ({ origin, protocol, pathname }: URL): string =>
  `${protocol === 'file:' ? 'file://' : origin}${pathname}`

const isBelow = (path: string, directory: string): boolean => {
  const way = relative(directory, path)
  return way !== '' && way !== '..' && !way.startsWith('../') && !isAbsolute(way)
}

/** `sources` and `insideHosts` as in the settings. Throws `SourceSetting`. */
export const createAllowedSources = (sources: readonly string[], insideHosts: readonly string[]): AllowedSources => {
  const directories: string[] = []
  const urls: URL[] = []
  for (const source of sources) {
    const url = URL.parse(source)
    if (url?.protocol === 'https:' && url.search === '' && url.hash === '' && url.username === '') urls.push(url)
    else if (url === null && isAbsolute(source)) directories.push(normalize(source))
    else throw SourceSetting(source)
  }
  const inside = new Set(insideHosts.map((host) => host.toLowerCase()))
  const isListed = (url: URL): boolean =>
    urls.some(({ host, pathname }) => {
      if (url.host !== host) return false
      const folder = pathname.endsWith('/') ? pathname : `${pathname}/`
      // A server may decode %2f to a slash, so that %2e%2e%2f would lead out of the folder.
      return url.pathname.startsWith(folder) && (pathname === '/' || !/%2f|%5c/i.test(url.pathname))
    })

  return {
    isEmpty: sources.length === 0,
    find(text) {
      const url = URL.parse(text)
      if (url === null || (url.protocol !== 'https:' && url.protocol !== 'file:') || url.username !== '')
        throw ImportUrl(text.slice(0, SHOWN))
      const refused = () => ImportSourceRefused(shownUrl(url).slice(0, SHOWN))
      if (url.protocol === 'https:') {
        if (!isListed(url)) throw refused()
        return { kind: 'https', url, isInside: inside.has(url.hostname) }
      }
      let path: string
      try {
        path = normalize(fileURLToPath(url))
      } catch {
        throw ImportUrl(text.slice(0, SHOWN))
      }
      const directory = directories.find((one) => isBelow(path, one))
      if (directory === undefined) throw refused()
      return { kind: 'file', path, directory }
    },
  }
}
