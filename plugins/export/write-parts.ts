/**
 * Writes the files of an export, part by part. Only finished parts count: the next attempt continues behind the last one.
 * The content of a part depends on the job alone, so every server writes the same.
 */
import { isServerError, type Restriction } from '../../kernel/index.ts'
import { type AsOfOptions, type AsOfResource, type PackedBody, present, type Session } from '../fhir/service.ts'
import type { RunningJob } from '../jobs/service.ts'
import type { ResourceType } from '../model/service.ts'
import { ExportFiles } from './errors.ts'
import type { ExportFolder } from './export-folder.ts'
import type { ExportSpec } from './export-spec.ts'
import { createLineWriter, type LineWriter, type OpenFile } from './line-writer.ts'
import { type PartRow, putPart, type Section } from './tables.ts'

const MAX_LINES = 50_000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_PART = { lines: MAX_LINES, bytes: MAX_BYTES }
const MAX_DELETIONS = 500 // in one Bundle

/** The job and the data of one attempt at an export. */
export interface ExportAttempt {
  readonly job: RunningJob
  readonly spec: ExportSpec
  readonly session: Session
  readonly folder: ExportFolder
  readonly path: string
  readonly types: ReadonlyMap<string, ResourceType>
  /** Undefined for every resource. */
  readonly patients: AsOfOptions['patients']
  /** Whether a resource matches a filter of its type; undefined for a type without filters. */
  readonly filterOf: (type: string) => Promise<((resource: AsOfResource) => boolean) | undefined>
}

interface PartsParts extends ExportAttempt {
  readonly writer: LineWriter
}

interface Unit {
  readonly section: Section
  readonly type: string
}

/** The resources of a part, by their keys. */
type Bounds = Pick<PartRow, 'part' | 'section' | 'type' | 'after_rid'> & { readonly upto?: number }

/** The elements that concern a type; undefined where the whole resource is shown. */
const elementsFor = ({ elements }: ExportSpec, type: string): readonly string[] | undefined => {
  const own = elements?.filter((one) => !/^[A-Z][A-Za-z]*\./.test(one) || one.startsWith(`${type}.`)) ?? []
  return own.length === 0 ? undefined : own
}

/** Returns the line of a resource. */
const toLine = ({ spec, types }: PartsParts, type: string): ((resource: AsOfResource) => PackedBody) => {
  const elements = elementsFor(spec, type)
  if (elements === undefined) return ({ packed }) => packed
  const presentation = { pretty: false, elements }
  const shape = types.get(type) as ResourceType
  return ({ json }) => plain(present(json, shape, presentation))
}

const plain = (text: string): PackedBody => ({ bytes: Buffer.from(text), encoding: 0 })

const toDeletions = (urls: readonly string[]): PackedBody => {
  const entry = urls.map((url) => ({ request: { method: 'DELETE', url } }))
  return plain(JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry }))
}

const outcomeOf = (diagnostics: string): PackedBody =>
  plain(
    JSON.stringify({
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'warning', code: 'not-supported', diagnostics }],
    }),
  )

/** The key of the last resource in a file, and whether none follow. */
interface Filled {
  readonly upto: number
  readonly isLast: boolean
}

/** Adds deletions to the file, as Bundles of some hundred. */
const fillDeletions = async (
  found: AsyncIterable<readonly AsOfResource[]>,
  { job }: PartsParts,
  file: OpenFile,
  { after_rid: after, upto = Number.POSITIVE_INFINITY }: Bounds,
  onLines: (lines: number) => void,
): Promise<Filled> => {
  let urls: string[] = []
  let last = after
  let count = 0
  const flush = async (): Promise<void> => {
    if (urls.length > 0) await file.add([toDeletions(urls)])
    urls = []
  }
  for await (const resources of found) {
    for (const { key, type, id } of resources) {
      if (key > upto || count >= MAX_LINES || file.bytes >= MAX_BYTES) {
        await flush()
        return { upto: last, isLast: false }
      }
      urls.push(`${type}/${id}`)
      last = key
      count += 1
      if (urls.length === MAX_DELETIONS) await flush()
    }
    await job.pause()
    onLines(count)
  }
  await flush()
  return { upto: last, isLast: true }
}

/** Adds resources to the file, each as a line. */
const fillResources = async (
  found: AsyncIterable<readonly AsOfResource[]>,
  parts: PartsParts,
  file: OpenFile,
  { type, after_rid: after, upto = Number.POSITIVE_INFINITY }: Bounds,
  onLines: (lines: number) => void,
): Promise<Filled> => {
  const { job, spec } = parts
  const passes = await parts.filterOf(type)
  const line = toLine(parts, type)
  // Otherwise the main thread reads no resource, and need not pause for each.
  const looks = passes !== undefined || elementsFor(spec, type) !== undefined
  let last = after
  for await (const resources of found) {
    const keys: number[] = []
    const bodies: PackedBody[] = []
    for (const resource of resources) {
      if (resource.key > upto) break
      if (passes === undefined || passes(resource)) {
        keys.push(resource.key)
        bodies.push(line(resource))
      }
      const rest = looks ? job.pause() : undefined
      if (rest !== undefined) await rest
    }
    const taken = await file.add(bodies, MAX_PART, (aside) => job.resume(aside))
    last = keys[taken - 1] ?? last
    if (taken < bodies.length || (resources.at(-1)?.key ?? 0) > upto) return { upto: last, isLast: false }
    await job.pause()
    onLines(file.lines)
  }
  return { upto: last, isLast: true }
}

const fill = async (
  parts: PartsParts,
  file: OpenFile,
  bounds: Bounds,
  onLines: (lines: number) => void,
): Promise<Filled> => {
  const { job, spec, session, patients } = parts
  const { section, type, after_rid: after } = bounds
  if (section === 'error') {
    await file.add(spec.notes.map(outcomeOf))
    return { upto: 0, isLast: true }
  }
  const deleted = section === 'deleted'
  const found = session.asOf(type, {
    ...{ upTo: job.upto, since: spec.since, after, deleted, patients },
    pause: () => job.pause(),
    resume: (aside) => job.resume(aside),
  })
  return (deleted ? fillDeletions : fillResources)(found, parts, file, bounds, onLines)
}

/** Writes one part and its row. Removes the file of an attempt that fails or has ended. */
const writePart = async (parts: PartsParts, bounds: Bounds, onLines: (lines: number) => void): Promise<PartRow> => {
  const { job, path, writer } = parts
  const file = await writer.open(path, `${bounds.part}-${job.attempt}.ndjson`)
  try {
    const { upto, isLast } = await fill(parts, file, bounds, onLines)
    job.signal.throwIfAborted()
    const written = await file.finish()
    const { part, section, type, after_rid } = bounds
    const row: PartRow = {
      ...{ job: job.id, part, section, type, after_rid, attempt: job.attempt },
      ...written,
      upto_rid: bounds.upto ?? upto,
      is_last: isLast ? 1 : 0,
    }
    await job.write((transaction) =>
      transaction.run(putPart, [
        ...[row.job, row.part, row.section, row.type, row.after_rid, row.upto_rid],
        ...[row.is_last, row.attempt, row.file, row.lines, row.bytes, row.sha256],
      ]),
    )
    return row
  } catch (error) {
    await file.discard().catch(() => undefined)
    if (isServerError(error) || job.signal.aborted) throw error
    // Errors of Node name the folder, which clients must not see.
    throw (error as NodeJS.ErrnoException).code === undefined ? error : ExportFiles().with({ cause: error })
  }
}

const unitsOf = ({ types, since, notes }: ExportSpec): readonly Unit[] => [
  ...types.map((type): Unit => ({ section: 'output', type })),
  ...(since === undefined ? [] : types.map((type): Unit => ({ section: 'deleted', type }))),
  ...(notes.length === 0 ? [] : [{ section: 'error', type: 'OperationOutcome' } as const]),
]

const writeAll = async (parts: PartsParts, done: readonly PartRow[]): Promise<void> => {
  const { job, spec, folder } = parts
  const units = unitsOf(spec)
  let total = done.reduce((sum, { lines }) => sum + lines, 0)
  let at = 0
  const report = (type: string) => (lines: number) =>
    job.report(`${type}: ${total + lines} resources, ${at} of ${units.length} types done`)
  for (const row of done) {
    if (row.file === '' || (await folder.has(job.id, row.file, row.bytes))) continue
    await writePart(parts, { ...row, upto: row.upto_rid }, report(row.type))
  }
  let next = Math.max(0, ...done.map(({ part }) => part)) + 1
  for (const { section, type } of units) {
    const own = done.filter((row) => row.section === section && row.type === type)
    let last = own.at(-1)
    while (last?.is_last !== 1) {
      report(type)(0)
      last = await writePart(parts, { part: next, section, type, after_rid: last?.upto_rid ?? 0 }, report(type))
      next += 1
      total += last.lines
    }
    at += 1
  }
}

/** `done`: the parts that earlier attempts have finished. */
export const writeParts = async (parts: ExportAttempt, done: readonly PartRow[]): Promise<void> => {
  const writer = createLineWriter()
  try {
    await writeAll({ ...parts, writer }, done)
  } finally {
    await writer.close()
  }
}

/** The restrictions that the job stores. */
export const restrictionsOf = ({ ruling }: Pick<RunningJob, 'ruling'>): readonly Restriction[] =>
  JSON.parse(ruling) as readonly Restriction[]
