/** Packages in an S3 bucket: `s3://bucket/prefix`. Spec: SERVER_S3_* table. The client is imported when it is used. */
import type { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import { S3Keys, S3Location, SourceRefused, SourceUnreachable } from './errors.ts'
import { describeFailure, redactUrl } from './http.ts'
import { type Download, fileNames, type PackageSource, versionIn } from './source.ts'
import { bestOf } from './version.ts'

export interface BucketOptions {
  readonly accessKeyId: string | undefined
  readonly secretAccessKey: string | undefined
  readonly sessionToken: string | undefined
  readonly endpoint: string | undefined
  readonly region: string
  /** Longest silence of the store in milliseconds. */
  readonly idleMs: number
}

const CONNECT_MS = 10_000
const ATTEMPTS = 3

/** Advice for error codes of S3. https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
const ADVICE: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'the store does not know SERVER_S3_ACCESS_KEY_ID',
  SignatureDoesNotMatch: 'SERVER_S3_SECRET_ACCESS_KEY is not the secret of that access key',
  InvalidToken: 'SERVER_S3_SESSION_TOKEN (or AWS_SESSION_TOKEN) is missing, or does not belong to the access key',
  ExpiredToken: 'SERVER_S3_SESSION_TOKEN (or AWS_SESSION_TOKEN) has expired',
  AuthorizationHeaderMalformed: 'SERVER_S3_REGION is not the region of the store',
  AuthorizationQueryParametersError: 'SERVER_S3_REGION is not the region of the store',
  PermanentRedirect: 'SERVER_S3_REGION is not the region of the bucket',
  IllegalLocationConstraintException: 'SERVER_S3_REGION is not the region of the bucket',
  AccessDenied: 'the access key may not read or list the bucket',
  AllAccessDisabled: 'the access key may not read or list the bucket',
  NoSuchBucket: 'there is no such bucket',
  RequestTimeTooSkewed: 'the clock of this machine is wrong',
  CredentialsProviderError: 'no credentials; set SERVER_S3_ACCESS_KEY_ID and SERVER_S3_SECRET_ACCESS_KEY',
}

const MISSING: ReadonlySet<string> = new Set(['NoSuchKey', 'NotFound'])

const parseLocation = (address: string): { readonly bucket: string; readonly prefix: string } => {
  const [, bucket, path = ''] = /^s3:\/\/([^/]+)(\/.*)?$/.exec(address) ?? []
  if (bucket === undefined) throw S3Location(address)
  const prefix = path.replace(/^\/+|\/+$/g, '')
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}

export const createS3Source = (address: string, options: BucketOptions): PackageSource => {
  const { bucket, prefix } = parseLocation(address)
  const { accessKeyId, secretAccessKey, sessionToken, endpoint, region, idleMs } = options
  if (accessKeyId !== undefined && secretAccessKey === undefined)
    throw S3Keys('SERVER_S3_ACCESS_KEY_ID', 'SERVER_S3_SECRET_ACCESS_KEY')
  if (accessKeyId === undefined && secretAccessKey !== undefined)
    throw S3Keys('SERVER_S3_SECRET_ACCESS_KEY', 'SERVER_S3_ACCESS_KEY_ID')
  const where = `s3://${bucket}/${prefix}`.replace(/\/$/, '')
  const at = endpoint === undefined ? where : `${where} at ${redactUrl(new URL(endpoint)).replace(/\/$/, '')}`

  const connect = async () => {
    const sdk = await import('@aws-sdk/client-s3')
    const client: S3Client = new sdk.S3Client({
      region,
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      // Without configured keys the SDK uses its own chain: environment variables, files, the role of the instance.
      ...(accessKeyId === undefined || secretAccessKey === undefined
        ? {}
        : { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } }),
      maxAttempts: ATTEMPTS,
      // Checksums beyond the signature are not known to every S3-compatible store.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: idleMs },
    })
    return { sdk, client }
  }
  let connected: ReturnType<typeof connect> | undefined
  const store = (): ReturnType<typeof connect> => {
    connected ??= connect()
    return connected
  }

  const phrase = (error: unknown): string =>
    (error as Error).name === 'TimeoutError' ? `it was silent for ${idleMs / 1000} s` : describeFailure(error)

  /** Translates an error of the store into ours. */
  const explain = (error: unknown, label: string, signal: AbortSignal): unknown => {
    if (signal.aborted) return signal.reason
    const { name, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } }
    const advice = ADVICE[name]
    if (name === 'CredentialsProviderError') return SourceRefused(label, at, advice ?? name).with({ cause: error })
    const status = $metadata?.httpStatusCode
    if (status === undefined) return SourceUnreachable(label, at, phrase(error)).with({ cause: error })
    const code = name === 'Error' || name === 'Unknown' ? `HTTP ${status}` : `${name} (HTTP ${status})`
    return SourceRefused(label, at, advice === undefined ? code : `${code}: ${advice}`).with({ cause: error })
  }

  /** Version → key of all files of a package in the bucket. */
  const list = async (name: string, label: string, signal: AbortSignal): Promise<Map<string, string>> => {
    const { sdk, client } = await store()
    const keys = new Map<string, string>()
    const pages = sdk.paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix + name })
    try {
      for await (const { Contents = [] } of pages)
        for (const { Key = '' } of Contents) {
          const version = versionIn(name, Key.slice(prefix.length))
          if (version !== undefined && !keys.has(version)) keys.set(version, Key)
        }
    } catch (error) {
      throw explain(error, label, signal)
    }
    return keys
  }

  const bytesOf = async function* (body: Readable, label: string, signal: AbortSignal): Download['bytes'] {
    try {
      for await (const part of body) yield part
    } catch (error) {
      throw signal.aborted ? signal.reason : SourceUnreachable(label, at, phrase(error)).with({ cause: error })
    }
  }

  // With keys that may read but not list, S3 answers AccessDenied for a missing object. After one successful read,
  // AccessDenied is taken to mean that.
  let mayRead = false

  return {
    where: at,
    async resolve(name, spec, signal) {
      return bestOf([...(await list(name, `${name}@${spec}`, signal)).keys()], spec)
    },
    async open(name, version, signal) {
      const label = `${name}@${version}`
      const { sdk, client } = await store()
      let denied: unknown
      for (const file of fileNames(name, version)) {
        const key = prefix + file
        try {
          const { Body, ContentLength } = await client.send(new sdk.GetObjectCommand({ Bucket: bucket, Key: key }), {
            abortSignal: signal,
          })
          const body = Body as Readable
          mayRead = true
          return { from: `s3://${bucket}/${key}`, size: ContentLength, hashes: [], bytes: bytesOf(body, label, signal) }
        } catch (error) {
          const { name: code } = error as Error
          if (code === 'AccessDenied') denied = error
          else if (!MISSING.has(code)) throw explain(error, label, signal)
        }
      }
      if (denied !== undefined && !mayRead) throw explain(denied, label, signal)
      return undefined
    },
  }
}
