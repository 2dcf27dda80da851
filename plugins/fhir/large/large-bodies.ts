/**
 * Large bodies and large stored resources. Work that would block the main thread for too long is done by a thread; the
 * results have the same shape as those of small bodies.
 */
import type { RequestContext, ServerError } from '../../../kernel/index.ts'
import { type ParsedResource, type ResourceTemplate, type ResourceType, templateOf } from '../../model/service.ts'
import { type FoundRows, rowsOfBefore } from '../../search/service.ts'
import type { LargeVersions, StoredVersion } from '../../storage/service.ts'
import type { Presentation } from '../presentation/presentation-parameters.ts'
import { fromFailure } from './failure.ts'
import type { LargeFindings } from './findings.ts'
import { toLargeResource } from './large-resource.ts'
import type { Examined } from './outcome.ts'
import { createOwnTurns } from './own-turns.ts'
import { shareText } from './share-text.ts'
import type { PackedVersion, PatchToApply, Task } from './task.ts'
import type { Threads } from './threads.ts'

type Asking = Pick<RequestContext, 'signal' | 'ownUrl'>
/** When the signal aborts, the thread ends its task. */
type Cancelling = { readonly signal: AbortSignal | undefined }

/** A body that cannot be parsed. Its error is thrown when the body is read. */
export class UnreadableBody {
  readonly error: ServerError
  constructor(error: ServerError) {
    this.error = error
  }
}

/** A large body that was parsed. Its text is decoded at the first use, because most writes do not need it. */
export interface LargeBody extends ParsedResource {
  /** In shared memory where it is large. */
  readonly bytes: Uint8Array
  /** Decodes the text, which takes about a millisecond for each megabyte. */
  decode(): void
  /** Undefined when `meta` is no object. */
  readonly template?: ResourceTemplate | undefined
  /** Why the resource may not be written. */
  readonly refusal?: ServerError | undefined
}

/** The result of a patch that changes nothing. */
export interface Unpatched {
  readonly bytes?: undefined
  /** The patients that the resource belongs to. */
  readonly patients: readonly string[]
}

/** The address of a write, and the version that it replaces. */
export interface Place {
  readonly type: string
  readonly id: string
  readonly before: StoredVersion | undefined
  /** True when access is restricted and is decided by the index rows of both versions. */
  readonly isGuarded: boolean
}

export interface LargeBodies extends LargeVersions {
  /** True when a body is large. `body` is bytes, or parsed already. */
  concerns(body: unknown): boolean
  /** Parses, validates and indexes a body for a write. */
  write(asking: Asking, place: Place, body: unknown): Promise<LargeBody | UnreadableBody>
  /**
   * Applies a patch to the current version, and processes the result like `write`. Throws 4xx when the patch cannot be
   * applied.
   */
  patch(asking: Asking, place: Place, patch: PatchToApply): Promise<LargeBody | Unpatched>
  /** The index rows that a write removes with the current version. */
  remove(asking: Asking, place: Place): Promise<LargeFindings>
  /** The index rows of a version; undefined when the version is not large. */
  rows(asking: Asking, version: StoredVersion): Promise<FoundRows | undefined> | undefined
  /** Parses a body without validating or indexing it. */
  read(asking: Asking, body: unknown): Promise<LargeBody | UnreadableBody>
  /** The issues that $validate reports for a text. */
  check(asking: Asking, text: string, profiles: readonly string[]): Promise<Examined['head']['issues']>
  /** A version in the form that the presentation requests, as bytes of JSON. */
  present(asking: Asking, version: StoredVersion, type: ResourceType, presentation: Presentation): Promise<Buffer>
  /** The bytes of JSON for a body in XML. Throws 400. */
  readXml(asking: Cancelling, body: Uint8Array): Promise<Uint8Array>
  /** The bytes of XML for an answer in JSON. Throws 406. */
  writeXml(asking: Cancelling, json: string | Uint8Array, pretty: boolean): Promise<Buffer>
  /** The patients that a version belongs to. */
  patients(asking: Asking, version: StoredVersion): Promise<readonly string[]>
  close(): Promise<void>
}

const toText = (bytes: Uint8Array): string => {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', hasMark ? 3 : 0)
}

const isRead = (body: unknown): body is ParsedResource | LargeBody =>
  typeof body === 'object' && body !== null && 'text' in body

/** The bytes of a body. One that the main thread has parsed is encoded again. */
const bytesOf = async (body: unknown): Promise<Uint8Array> => {
  if (body instanceof Uint8Array) return body
  return 'bytes' in (body as LargeBody) ? (body as LargeBody).bytes : shareText((body as ParsedResource).text)
}

/** The text that a thread has made, as bytes. */
const textOf = ({ head }: Examined): Buffer => {
  const { buffer, byteOffset, byteLength } = head.text as Uint8Array
  return Buffer.from(buffer, byteOffset, byteLength)
}

const pack = ({ type, id, version, versionTime, bytes, encoding }: StoredVersion): PackedVersion => ({
  type,
  id,
  version,
  versionTime,
  bytes,
  encoding,
})

const toFindings = ({ head: { findings }, parts, source }: Examined): LargeFindings | undefined => {
  if (findings === undefined) return undefined
  const { before } = findings
  const listed = <L extends (typeof parts)[number]['list']>(name: L) =>
    parts.filter((part): part is Extract<typeof part, { list: L }> => part.list === name)
  const rowsOf = (name: 'added' | 'removed' | 'shared') =>
    parts.flatMap((part) => (part.list === name ? [part.rows] : []))
  return {
    ...findings,
    added: rowsOf('added'),
    shared: findings.hasShared ? rowsOf('shared') : undefined,
    contained: listed('contained').flatMap(({ contained }) => contained),
    references: listed('references').flatMap(({ references }) => references),
    paths: listed('references').flatMap(({ paths }) => paths),
    before: before && {
      ...before,
      removed: rowsOf('removed'),
      references: findings.hasShared ? listed('referencesBefore').flatMap(({ references }) => references) : undefined,
      contained: listed('containedBefore').flatMap(({ contained }) => contained),
    },
    source,
  }
}

export interface LargeBodiesParts {
  readonly threads: Threads
  readonly versions: LargeVersions
}

export const createLargeBodies = ({ threads, versions }: LargeBodiesParts): LargeBodies => {
  const { least, concernsVersion } = versions
  const ownTurns = createOwnTurns()
  const run = async ({ signal }: Cancelling, task: Task): Promise<Examined> => {
    const outcome = await threads.run(task, signal)
    const { failure } = outcome.head
    if (failure !== undefined) throw fromFailure(failure)
    return outcome
  }
  const toBody = (bytes: Uint8Array, outcome: Examined): LargeBody => {
    const { members = [], pieces = [], slots, outline, refusal } = outcome.head
    let decoded: string | undefined
    const text = (): string => {
      decoded ??= toText(bytes)
      return decoded
    }
    return {
      bytes,
      decode: () => void text(),
      get text() {
        return text()
      },
      members,
      resource: toLargeResource(text, members, pieces, toFindings(outcome), outline),
      outline,
      template: slots && templateOf(slots, text),
      refusal: refusal && fromFailure(refusal),
    }
  }
  const tried = async (
    asking: Asking,
    task: Extract<Task, { readonly task: 'write' | 'read' }>,
  ): Promise<LargeBody | UnreadableBody> => {
    const outcome = await threads.run(task, asking.signal)
    const { failure } = outcome.head
    return failure === undefined ? toBody(task.body, outcome) : new UnreadableBody(fromFailure(failure))
  }
  const where = ({ ownUrl }: Asking, { type, id, before, isGuarded }: Place) => ({
    type,
    id,
    ownUrl,
    isGuarded,
    before: before === undefined || before.deleted ? undefined : pack(before),
  })
  return {
    ...versions,
    concerns: (body) =>
      body instanceof Uint8Array
        ? body.length >= least
        : isRead(body) && ('bytes' in body ? body.bytes.length : body.text.length) >= least,
    async write(asking, place, body) {
      return tried(asking, { task: 'write', body: await bytesOf(body), ...where(asking, place) })
    },
    async patch(asking, place, patch) {
      const outcome = await run(asking, { task: 'patch', ...patch, ...where(asking, place) })
      const { text, patients = [] } = outcome.head
      return text === undefined ? { patients } : toBody(text, outcome)
    },
    async remove(asking, place) {
      return toFindings(await run(asking, { task: 'remove', ...where(asking, place) })) as LargeFindings
    },
    rows(asking, version) {
      if (!concernsVersion(version)) return undefined
      const place = { type: version.type, id: version.id, before: version, isGuarded: true }
      return run(asking, { task: 'remove', ...where(asking, place) }).then((outcome) =>
        rowsOfBefore(toFindings(outcome) as LargeFindings),
      )
    },
    async read(asking, body) {
      const read = await tried(asking, { task: 'read', body: await bytesOf(body) })
      if (!(read instanceof UnreadableBody)) await ownTurns.take(read.decode)
      return read
    },
    async check(asking, text, profiles) {
      return (await run(asking, { task: 'check', body: await shareText(text), profiles })).head.issues
    },
    async present(asking, version, type, presentation) {
      return textOf(await run(asking, { task: 'present', version: pack(version), type, presentation }))
    },
    async readXml(asking, body) {
      return textOf(await run(asking, { task: 'readXml', body }))
    },
    async writeXml(asking, json, pretty) {
      const bytes = typeof json === 'string' ? await shareText(json) : json
      return textOf(await run(asking, { task: 'writeXml', json: bytes, pretty }))
    },
    async patients(asking, version) {
      return (
        (await run(asking, { task: 'patients', version: pack(version), ownUrl: asking.ownUrl })).head.patients ?? []
      )
    },
    close: () => threads.close(),
  }
}
