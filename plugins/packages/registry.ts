/**
 * Fetches packages from a FHIR package registry, or from a mirror that only serves files. Spec: [conformance]
 * package_registry.
 */
import { NotARegistry, SourceRefused, SourceUnreachable } from './errors.ts'
import { type HttpAnswer, type HttpClient, HttpFailure, readText, redactUrl, splitCredentials } from './http.ts'
import { type Listing, readListing } from './listing.ts'
import { type Download, fileNames, type PackageSource, type PromisedHash } from './source.ts'
import { bestOf } from './version.ts'

const LISTING_BYTES = 64 * 1024 * 1024 // a listing repeats the package.json of every version
const PACKAGE_TYPES = 'application/tar+gzip, application/gzip, application/octet-stream, */*;q=0.5'

/** Words for a message about an answer that is neither a package nor a list. */
const wordsFor = (type: string): string =>
  type.includes('html') ? 'a web page (HTML)' : type.includes('json') ? 'JSON' : type === '' ? 'something' : type

const isPage = ({ type }: HttpAnswer): boolean => /html|json/.test(type)

/** A package source over HTTP. Credentials in `address` are sent to its own origin only. */
export const createRegistry = (address: string, http: HttpClient): PackageSource => {
  const { url: base, authorization } = splitCredentials(address)
  const where = redactUrl(base).replace(/\/+$/, '')
  const at = (path: string): URL => {
    const url = new URL(base)
    url.pathname = `${base.pathname.replace(/\/+$/, '')}/${path.replace('#', '%23')}`
    return url
  }

  /** Turns a broken connection into the error for a message. */
  const explain =
    (label: string, from = where) =>
    (error: unknown): never => {
      throw error instanceof HttpFailure ? SourceUnreachable(label, from, error.message).with({ cause: error }) : error
    }

  /** The answer when it is 200, undefined for 404 and 410. */
  const get = async (url: URL, label: string, accept: string, signal: AbortSignal): Promise<HttpAnswer | undefined> => {
    const known = url.origin === base.origin ? authorization : undefined
    const answer = await http.get(url, { accept, authorization: known, signal }).catch(explain(label))
    if (answer.status === 200) return answer
    await answer.discard()
    if (answer.status === 404 || answer.status === 410) return undefined
    throw SourceRefused(label, answer.from, `HTTP ${answer.status}`)
  }

  // A source that has given one list has lists of all its packages.
  let hasLists = false
  // The list of a package: undefined when the registry has none, or words for its answer when that is not a list.
  const list = async (name: string, label: string, signal: AbortSignal): Promise<Listing | string | undefined> => {
    const answer = await get(at(name), label, 'application/json', signal)
    if (answer === undefined) return undefined
    const text = await readText(answer, LISTING_BYTES).catch(explain(label))
    const found = readListing(text)
    hasLists ||= found !== undefined
    return found ?? wordsFor(answer.type)
  }
  const lists = new Map<string, ReturnType<typeof list>>()
  const listOnce = (name: string, label: string, signal: AbortSignal): ReturnType<typeof list> => {
    const known = lists.get(name) ?? list(name, label, signal)
    lists.set(name, known)
    known.catch(() => lists.delete(name))
    return known
  }

  /** The body, after a check of its first byte: a web page with status 200 is not a package. */
  async function* packageBytes(answer: HttpAnswer, label: string): Download['bytes'] {
    let first = true
    try {
      for await (const part of answer.bytes) {
        if (first && part[0] !== 0x1f) throw NotARegistry(label, answer.from, wordsFor(answer.type))
        first = false
        yield part
      }
    } catch (error) {
      explain(label, answer.from)(error)
    }
  }
  const asDownload = (answer: HttpAnswer, label: string, hashes: readonly PromisedHash[]): Download => ({
    from: answer.from,
    size: answer.size,
    hashes,
    bytes: packageBytes(answer, label),
  })

  /** The answer of the first of these paths that is a file, and not a web page. */
  const firstFile = async (
    paths: readonly string[],
    label: string,
    signal: AbortSignal,
  ): Promise<{ readonly file?: HttpAnswer; readonly page?: HttpAnswer }> => {
    let page: HttpAnswer | undefined
    for (const path of paths) {
      const answer = await get(at(path), label, PACKAGE_TYPES, signal)
      if (answer === undefined) continue
      if (!isPage(answer)) return { file: answer }
      await answer.discard()
      page = answer
    }
    return page === undefined ? {} : { page }
  }

  return {
    where,
    async resolve(name, spec, signal) {
      const label = `${name}@${spec}`
      const found = await listOnce(name, label, signal)
      if (typeof found === 'string') throw NotARegistry(label, `${where}/${name}`, found)
      return found === undefined ? undefined : bestOf([...found.versions.keys()], spec, found.latest)
    },
    async open(name, version, signal) {
      const label = `${name}@${version}`
      const found = await listOnce(name, label, signal)
      const listed = typeof found === 'object' ? found.versions.get(version) : undefined
      if (listed === undefined && (typeof found === 'object' || (found === undefined && hasLists))) return undefined
      const hashes = listed?.hashes ?? []
      const tarball = listed?.tarball === undefined ? null : URL.parse(listed.tarball, base.href)
      if (tarball === null || !/^https?:$/.test(tarball.protocol)) {
        const { file, page } = await firstFile([`${name}/${version}`, ...fileNames(name, version)], label, signal)
        if (file !== undefined) return asDownload(file, label, hashes)
        if (page !== undefined) throw NotARegistry(label, page.from, wordsFor(page.type))
        if (typeof found === 'string') throw NotARegistry(label, `${where}/${name}`, found)
        return undefined
      }
      if (tarball.host === base.host) tarball.protocol = base.protocol
      // A mirror may repeat the URLs of the registry that it mirrors, which may be unreachable: its own copy is tried
      // first.
      else {
        const { file } = await firstFile([`${name}/${version}`], label, signal)
        if (file !== undefined) return asDownload(file, label, hashes)
      }
      const answer = await get(tarball, label, PACKAGE_TYPES, signal)
      return answer === undefined ? undefined : asDownload(answer, label, hashes)
    },
  }
}
