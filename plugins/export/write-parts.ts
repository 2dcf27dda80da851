/**
 * Writes the files of an export, part by part. Only a finished part counts: the next attempt goes on behind the last one.
 * What is in a part depends on the job alone, so any server writes the same.
 */
import { isServerError, type Restriction } from '../../kernel/index.ts'
import { type AsOfOptions, type AsOfResource, present, type Session } from '../fhir/service.ts'
import type { RunningJob } from '../jobs/service.ts'
import type { ResourceType } from '../model/service.ts'
import { ExportFiles } from './errors.ts'
import type { ExportFolder } from './export-folder.ts'
import type { ExportSpec } from './export-spec.ts'
import { createPartFile, type PartFile } from './part-file.ts'
import { type PartRow, putPart, type Section } from './tables.ts'

const MOST_LINES = 50_000
const MOST_BYTES = 64 * 1024 * 1024
const DELETIONS = 500 // in one Bundle

export interface PartsParts {
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

interface Unit {
  readonly section: Section
  readonly type: string
}

/** What a part is made of. */
type Bounds = Pick<PartRow, 'part' | 'section' | 'type' | 'after_rid'> & { readonly upto?: number }

/** The elements that concern a type; undefined where the whole resource is shown. */
const elementsFor = ({ elements }: ExportSpec, type: string): readonly string[] | undefined => {
  const own = elements?.filter((one) => !/^[A-Z][A-Za-z]*\./.test(one) || one.startsWith(`${type}.`)) ?? []
  return own.length === 0 ? undefined : own
}

/** Adds resources to the file, each as a line. */
const asLines = ({ spec, types }: PartsParts, file: PartFile, type: string) => {
  const elements = elementsFor(spec, type)
  const presentation = { pretty: false, elements }
  const shape = types.get(type) as ResourceType
  return (resource: AsOfResource) => {
    if (elements !== undefined) return file.add(Buffer.from(present(resource.json, shape, presentation)))
    const bytes = resource.bytes()
    return bytes instanceof Promise ? bytes.then((one) => file.add(one)) : file.add(bytes)
  }
}

/** Adds deletions to the file, as Bundles of some hundred. */
const asDeletions = (file: PartFile) => {
  let urls: string[] = []
  const flush = () => {
    const entry = urls.map((url) => ({ request: { method: 'DELETE', url } }))
    urls = []
    return file.add(Buffer.from(JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })))
  }
  return {
    add: ({ type, id }: AsOfResource) => {
      urls.push(`${type}/${id}`)
      return urls.length < DELETIONS ? undefined : flush()
    },
    end: () => (urls.length === 0 ? undefined : flush()),
  }
}

const outcomeOf = (diagnostics: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'warning', code: 'not-supported', diagnostics }],
    }),
  )

/** Fills the file. Returns the key of the last resource in it, and whether none follow. */
const fill = async (parts: PartsParts, file: PartFile, bounds: Bounds, told: (lines: number) => void) => {
  const { job, spec, session, patients } = parts
  const { section, type, after_rid: after, upto = Number.POSITIVE_INFINITY } = bounds
  if (section === 'error') {
    for (const note of spec.notes) await file.add(outcomeOf(note))
    return { upto: 0, isLast: true }
  }
  const deletions = section === 'deleted' ? asDeletions(file) : undefined
  const add = deletions?.add ?? asLines(parts, file, type)
  const passes = section === 'deleted' ? undefined : await parts.filterOf(type)
  let last = after
  let count = 0
  const options: AsOfOptions = {
    ...{ upTo: job.upto, since: spec.since, after, deleted: section === 'deleted', patients },
    pause: () => job.pause(),
    resume: () => job.resume(),
  }
  const isFull = (): boolean => count >= MOST_LINES || file.bytes >= MOST_BYTES
  for await (const resources of session.asOf(type, options)) {
    job.resume()
    for (const resource of resources) {
      if (resource.key > upto || isFull()) {
        await deletions?.end()
        return { upto: last, isLast: false }
      }
      if (passes === undefined || passes(resource)) {
        const written = add(resource)
        if (written !== undefined) {
          await written
          job.resume()
        }
        last = resource.key
        count += 1
      }
      const rest = job.pause()
      if (rest !== undefined) await rest
    }
    told(count)
  }
  await deletions?.end()
  return { upto: last, isLast: true }
}

/** Writes one part and its row. The file of an attempt that fails, or is over, is removed. */
const writePart = async (parts: PartsParts, bounds: Bounds, told: (lines: number) => void): Promise<PartRow> => {
  const { job, path } = parts
  const file = createPartFile(path, `${bounds.part}-${job.attempt}.ndjson`)
  try {
    const { upto, isLast } = await fill(parts, file, bounds, told)
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
    await file.discard()
    if (isServerError(error) || job.signal.aborted) throw error
    // What Node says of a file names the folder.
    throw (error as NodeJS.ErrnoException).code === undefined ? error : ExportFiles().with({ cause: error })
  }
}

const unitsOf = ({ types, since, notes }: ExportSpec): readonly Unit[] => [
  ...types.map((type): Unit => ({ section: 'output', type })),
  ...(since === undefined ? [] : types.map((type): Unit => ({ section: 'deleted', type }))),
  ...(notes.length === 0 ? [] : [{ section: 'error', type: 'OperationOutcome' } as const]),
]

/** `done`: the parts that earlier attempts have finished. */
export const writeParts = async (parts: PartsParts, done: readonly PartRow[]): Promise<void> => {
  const { job, spec, folder } = parts
  const units = unitsOf(spec)
  let total = done.reduce((sum, { lines }) => sum + lines, 0)
  let at = 0
  const told = (type: string) => (lines: number) =>
    job.tell(`${type}: ${total + lines} resources, ${at} of ${units.length} types done`)
  for (const row of done) {
    if (row.file === '' || (await folder.has(job.id, row.file, row.bytes))) continue
    await writePart(parts, { ...row, upto: row.upto_rid }, told(row.type))
  }
  let next = Math.max(0, ...done.map(({ part }) => part)) + 1
  for (const { section, type } of units) {
    const own = done.filter((row) => row.section === section && row.type === type)
    let last = own.at(-1)
    while (last?.is_last !== 1) {
      told(type)(0)
      last = await writePart(parts, { part: next, section, type, after_rid: last?.upto_rid ?? 0 }, told(type))
      next += 1
      total += last.lines
    }
    at += 1
  }
}

/** Restrictions as the job has them. */
export const restrictionsOf = ({ ruling }: Pick<RunningJob, 'ruling'>): readonly Restriction[] =>
  JSON.parse(ruling) as readonly Restriction[]
