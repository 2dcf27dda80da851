/** A FHIR package registry on loopback, over real HTTP. It records its requests, and can be made to answer wrongly. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface Published {
  readonly name: string
  readonly version: string
  readonly tgz: Buffer
  /** Members of `dist` that replace the correct ones; undefined removes one. */
  readonly dist?: Readonly<Record<string, string | undefined>>
}

export interface TestRegistry {
  /** URL for package_registry. */
  readonly url: string
  /** The requests, such as `GET /name`, in order. */
  readonly requests: string[]
  /** Authorization header of each request. */
  readonly authorizations: (string | undefined)[]
  /** Adds a version to the list of its package, with its hashes. */
  publish(published: Published): void
  /** Calls `answer` for requests of a path; the path is as in the request line, without query. */
  answer(path: string, answer: Answer): void
  /** Answers a path with these bytes. */
  serve(path: string, body: Buffer | string, type: string): void
  stop(): Promise<void>
}

export interface TestRegistryOptions {
  /** False for a mirror that only serves files: it has no lists, and each file is at `/name/version`. */
  readonly lists?: boolean
}

export const startRegistry = async ({ lists = true }: TestRegistryOptions = {}): Promise<TestRegistry> => {
  const packages = new Map<string, Map<string, Published>>()
  const answers = new Map<string, Answer>()
  const requests: string[] = []
  const authorizations: (string | undefined)[] = []
  let url = ''

  const send = (response: ServerResponse, status: number, type: string, body: Buffer | string): void => {
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
    response.end(body)
  }
  const entryOf = ({ name, version, tgz, dist }: Published): object => ({
    name,
    version,
    dist: {
      tarball: `${url}/${name}/${version}`,
      shasum: createHash('sha1').update(tgz).digest('hex'),
      integrity: `sha512-${createHash('sha512').update(tgz).digest('base64')}`,
      ...dist,
    },
  })
  const list = (name: string, versions: ReadonlyMap<string, Published>): string =>
    JSON.stringify({
      _id: name,
      name,
      'dist-tags': { latest: [...versions.keys()].at(-1) },
      versions: Object.fromEntries([...versions].map(([version, published]) => [version, entryOf(published)])),
    })

  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '/').split('?', 1)[0]!)
    requests.push(`${request.method} ${path}`)
    authorizations.push(request.headers.authorization)
    const own = answers.get(path)
    const [, name = '', version, ...rest] = path.split('/')
    const versions = packages.get(name)
    const published = version === undefined || rest.length > 0 ? undefined : versions?.get(version)
    if (own !== undefined) own(request, response)
    else if (published !== undefined) send(response, 200, 'application/tar+gzip', published.tgz)
    else if (version === undefined && versions !== undefined && lists)
      send(response, 200, 'application/json', list(name, versions))
    else send(response, 404, 'text/plain', 'not found')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    requests,
    authorizations,
    publish(published) {
      const versions = packages.get(published.name) ?? new Map<string, Published>()
      packages.set(published.name, versions.set(published.version, published))
    },
    answer: (path, answer) => void answers.set(path, answer),
    serve: (path, body, type) => void answers.set(path, (_, response) => send(response, 200, type, body)),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
