/**
 * An S3 endpoint on loopback that checks signatures: it signs every request again with the keys it knows and compares.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TestS3Options {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
  /** When set, the keys are temporary and every request must have this token. */
  readonly sessionToken?: string
  /** False for keys that may read objects and not list them: for a missing object these also get AccessDenied. */
  readonly mayList?: boolean
  /** Maximum number of keys in one page of a list. */
  readonly pageSize?: number
}

export interface TestS3 {
  readonly endpoint: string
  /** `bucket/key` → content. */
  readonly objects: Map<string, Buffer>
  /** `GET /bucket/key 200` or `… 403 SignatureDoesNotMatch`, in order. */
  readonly answers: string[]
  stop(): Promise<void>
}

const SKEW_MS = 15 * 60 * 1000

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
const toXml = (text: string): string => text.replace(/[<>&"]/g, (char) => `&#${char.charCodeAt(0)};`)

class Refused extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

interface Signed {
  readonly accessKeyId: string
  readonly day: string
  readonly region: string
  readonly headers: readonly string[]
  readonly signature: string
}

const readAuthorization = (text: string): Signed => {
  const [, accessKeyId, day, region, headers, signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      text,
    ) ?? []
  if (signature === undefined) throw new Refused(403, 'AccessDenied', 'The request is not signed.')
  return { accessKeyId: accessKeyId!, day: day!, region: region!, headers: headers!.split(';'), signature }
}

/** Throws unless the request has the signature that these keys produce. */
const verify = (request: IncomingMessage, options: TestS3Options): void => {
  const signed = readAuthorization(request.headers.authorization ?? '')
  if (signed.accessKeyId !== options.accessKeyId)
    throw new Refused(403, 'InvalidAccessKeyId', 'The access key is not known.')
  if (signed.region !== options.region)
    throw new Refused(400, 'AuthorizationHeaderMalformed', `The region is wrong; expecting '${options.region}'`)
  const header = (name: string): string => [request.headers[name] ?? ''].flat().join(',').trim().replace(/ +/g, ' ')
  const unsigned = ['host', ...Object.keys(request.headers).filter((name) => name.startsWith('x-amz-'))].find(
    (name) => !signed.headers.includes(name),
  )
  if (unsigned !== undefined) throw new Refused(403, 'AccessDenied', `${unsigned} is not signed.`)
  const date = header('x-amz-date')
  const at = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(Date.now() - at) < SKEW_MS) || !date.startsWith(signed.day))
    throw new Refused(403, 'RequestTimeTooSkewed', 'The time of the request is too far off.')
  const payload = header('x-amz-content-sha256')
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(''))
    throw new Refused(400, 'XAmzContentSHA256Mismatch', 'The hash is not that of the body.')
  if (header('x-amz-security-token') !== (options.sessionToken ?? ''))
    throw new Refused(400, 'InvalidToken', 'The provided token is malformed or otherwise invalid.')
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://s3')
  const canonical = [
    request.method,
    pathname.split('/').map(decodeURIComponent).map(encode).join('/'),
    [...searchParams]
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .toSorted()
      .join('&'),
    ...signed.headers.map((name) => `${name}:${header(name)}`),
    '',
    signed.headers.join(';'),
    payload,
  ].join('\n')
  const scope = `${signed.day}/${signed.region}/s3/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')
  const key = [signed.day, signed.region, 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${options.secretAccessKey}`,
  )
  if (hmac(key, toSign).toString('hex') !== signed.signature)
    throw new Refused(403, 'SignatureDoesNotMatch', 'The signature does not match.')
}

const list = (
  bucket: string,
  query: URLSearchParams,
  objects: ReadonlyMap<string, Buffer>,
  { mayList = true, pageSize = 1000 }: TestS3Options,
): string => {
  if (!mayList) throw new Refused(403, 'AccessDenied', 'Access Denied')
  const prefix = `${bucket}/${query.get('prefix') ?? ''}`
  const from = Number(query.get('continuation-token') ?? 0)
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).toSorted()
  const page = keys.slice(from, from + pageSize).map((key) => key.slice(bucket.length + 1))
  const rest = from + pageSize < keys.length
  const next = rest ? `<NextContinuationToken>${from + pageSize}</NextContinuationToken>` : ''
  return `<ListBucketResult><Name>${toXml(bucket)}</Name><KeyCount>${page.length}</KeyCount><IsTruncated>${rest}</IsTruncated>${next}${page
    .map((key) => `<Contents><Key>${toXml(key)}</Key></Contents>`)
    .join('')}</ListBucketResult>`
}

export const startS3 = async (options: TestS3Options): Promise<TestS3> => {
  const objects = new Map<string, Buffer>()
  const answers: string[] = []
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://s3')
    const path = decodeURIComponent(pathname).slice(1)
    const bucket = path.split('/', 1)[0]!
    const send = (status: number, type: string, body: Buffer | string, code = ''): void => {
      answers.push(`${request.method} /${path} ${status} ${code}`.trim())
      response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
      response.end(body)
    }
    try {
      verify(request, options)
      if (![...objects.keys()].some((key) => key.startsWith(`${bucket}/`)))
        throw new Refused(404, 'NoSuchBucket', 'The specified bucket does not exist.')
      const found = objects.get(path)
      if (searchParams.get('list-type') === '2')
        send(200, 'application/xml', list(bucket, searchParams, objects, options))
      else if (found !== undefined) send(200, 'application/octet-stream', found)
      else if (options.mayList === false) throw new Refused(403, 'AccessDenied', 'Access Denied')
      else throw new Refused(404, 'NoSuchKey', 'The specified key does not exist.')
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const { status, code, message } = error
      send(status, 'application/xml', `<Error><Code>${code}</Code><Message>${toXml(message)}</Message></Error>`, code)
    }
  }
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    answers,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
