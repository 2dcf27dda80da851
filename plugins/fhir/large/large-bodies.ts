/**
 * Large bodies and large stored resources: what would hold up the main thread for longer than other requests may wait is
 * done by a thread, and given on in the shape that small bodies have.
 */
import type { RequestContext, ServerError } from '../../../kernel/index.ts'
import type { ReadResource, ResourceType } from '../../model/service.ts'
import type { LargeVersions, StoredVersion } from '../../storage/service.ts'
import type { Presentation } from '../presentation/presentation-parameters.ts'
import { fromFailure } from './failure.ts'
import type { LargeFindings } from './findings.ts'
import { toLargeResource } from './large-resource.ts'
import type { Examined } from './outcome.ts'
import type { PackedVersion, PatchToApply, Task } from './task.ts'
import type { Threads } from './threads.ts'

type Asking = Pick<RequestContext, 'signal' | 'ownUrl'>

/** A body that cannot be read: whoever reads it throws. */
export class UnreadableBody {
  readonly error: ServerError
  constructor(error: ServerError) {
    this.error = error
  }
}

/** A large body that was read. */
export interface LargeBody extends ReadResource {
  /** Why it may not be written. */
  readonly refusal?: ServerError | undefined
}

/** Where something is written, and what is there now. */
export interface Place {
  readonly type: string
  readonly id: string
  readonly before: StoredVersion | undefined
}

export interface LargeBodies extends LargeVersions {
  /** Is a body, bytes or read already, large? */
  concerns(body: unknown): boolean
  /** A body read, checked and indexed for a write. */
  write(asking: Asking, place: Place, body: unknown): Promise<LargeBody | UnreadableBody>
  /**
   * The same of what a patch makes of what is there; undefined where it changes nothing. Throws 4xx for what cannot be
   * patched so.
   */
  patch(asking: Asking, place: Place, patch: PatchToApply): Promise<LargeBody | undefined>
  /** What goes out of the index with what is there. */
  remove(asking: Asking, place: Place): Promise<LargeFindings>
  /** A body that was read and no more. */
  read(asking: Asking, body: unknown): Promise<LargeBody | UnreadableBody>
  /** What $validate says of a text. */
  check(asking: Asking, text: string, profiles: readonly string[]): Promise<Examined['head']['issues']>
  /** A version in another form. */
  present(asking: Asking, version: StoredVersion, type: ResourceType, presentation: Presentation): Promise<Buffer>
  /** Whose data a version is. */
  patients(asking: Asking, version: StoredVersion): Promise<readonly string[]>
  isNoted(type: string, id: string): boolean
  close(): Promise<void>
}

const MOST_NOTED = 10_000 // resources

const toText = (bytes: Uint8Array): string => {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', hasMark ? 3 : 0)
}

/** Text and bytes of a body. The bytes are handed over to the thread, so each body is decoded before. */
const open = (body: unknown): { readonly text: string; readonly bytes: Uint8Array } => {
  if (body instanceof Uint8Array) {
    const text = toText(body)
    return { text, bytes: body }
  }
  const { text } = body as ReadResource
  return { text, bytes: Buffer.from(text) }
}

const pack = ({ type, id, version, stamp, bytes, form }: StoredVersion): PackedVersion => ({
  type,
  id,
  version,
  stamp,
  bytes,
  form,
})

const toFindings = ({ head: { findings }, parts, source }: Examined): LargeFindings | undefined => {
  if (findings === undefined) return undefined
  const { before } = findings
  const listed = <L extends (typeof parts)[number]['list']>(name: L) =>
    parts.filter((part): part is Extract<typeof part, { list: L }> => part.list === name)
  const rowsOf = (name: 'added' | 'removed') => parts.flatMap((part) => (part.list === name ? [part.rows] : []))
  return {
    ...findings,
    added: rowsOf('added'),
    contained: listed('contained').flatMap(({ contained }) => contained),
    references: listed('references').flatMap(({ references }) => references),
    paths: listed('references').flatMap(({ paths }) => paths),
    before: before && {
      ...before,
      removed: rowsOf('removed'),
      contained: listed('containedBefore').flatMap(({ contained }) => contained),
    },
    source,
  }
}

export interface LargeBodiesParts {
  readonly threads: Threads
  /** [fhir] large_body_bytes */
  readonly least: number
}

export const createLargeBodies = ({ threads, least }: LargeBodiesParts): LargeBodies => {
  const noted = new Set<string>()
  const run = async ({ signal }: Pick<Asking, 'signal'>, task: Task): Promise<Examined> => {
    const outcome = await threads.run(task, signal)
    const { failure } = outcome.head
    if (failure !== undefined) throw fromFailure(failure)
    return outcome
  }
  const toBody = (text: string, outcome: Examined): LargeBody => {
    const { members = [], outline, refusal } = outcome.head
    const resource = toLargeResource(text, members, toFindings(outcome), outline)
    return { text, members, resource, outline, refusal: refusal && fromFailure(refusal) }
  }
  const tried = async (asking: Asking, text: string, task: Task): Promise<LargeBody | UnreadableBody> => {
    const outcome = await threads.run(task, asking.signal)
    const { failure } = outcome.head
    return failure === undefined ? toBody(text, outcome) : new UnreadableBody(fromFailure(failure))
  }
  const where = ({ ownUrl }: Asking, { type, id, before }: Place) => ({
    type,
    id,
    ownUrl,
    before: before === undefined || before.deleted ? undefined : pack(before),
  })
  return {
    concerns: (body) =>
      body instanceof Uint8Array
        ? body.length >= least
        : typeof body === 'object' && body !== null && 'text' in body && (body as ReadResource).text.length >= least,
    // What is packed takes about a quarter.
    concernsVersion: (version) => version !== undefined && !version.deleted && version.weight >= least,
    async write(asking, place, body) {
      const { text, bytes } = open(body)
      return tried(asking, text, { task: 'write', body: bytes, ...where(asking, place) })
    },
    async patch(asking, place, patch) {
      const outcome = await run(asking, { task: 'patch', ...patch, ...where(asking, place) })
      const { text } = outcome.head
      return text === undefined ? undefined : toBody(toText(text), outcome)
    },
    async remove(asking, place) {
      return toFindings(await run(asking, { task: 'remove', ...where(asking, place) })) as LargeFindings
    },
    async read(asking, body) {
      const { text, bytes } = open(body)
      return tried(asking, text, { task: 'read', body: bytes })
    },
    async check(asking, text, profiles) {
      return (await run(asking, { task: 'check', body: Buffer.from(text), profiles })).head.issues
    },
    async present(asking, version, type, presentation) {
      const { head } = await run(asking, { task: 'present', version: pack(version), type, presentation })
      return Buffer.from(head.text as Uint8Array)
    },
    async patients(asking, version) {
      return (
        (await run(asking, { task: 'patients', version: pack(version), ownUrl: asking.ownUrl })).head.patients ?? []
      )
    },
    note(type, id) {
      if (noted.size >= MOST_NOTED) noted.clear()
      noted.add(`${type}/${id}`)
    },
    isNoted: (type, id) => noted.size > 0 && noted.has(`${type}/${id}`),
    close: () => threads.close(),
  }
}
