/** Reads a CodeSystem as JSON, of any size: concept after concept, each with those that are nested in it. */

import { createHash } from 'node:crypto'
import { JSONParser } from '@streamparser/json'
import { isServerError } from '../../../kernel/index.ts'
import { type CodeSystem, linksOf, readCodeSystem } from '../code-system.ts'
import { ReleaseFile as ReleaseFileError } from '../errors.ts'
import { type LoadedConcept, toLoaded } from '../indexed/loaded-concept.ts'
import { BATCH, type ReadOptions, type Release } from './release.ts'
import type { ReleaseFile } from './release-files.ts'
import { openStaging, type Staging } from './staging.ts'
import { readUtf8 } from './utf8-chunks.ts'

type Json = Readonly<Record<string, unknown>>

const TABLES = [
  'CREATE TABLE concept (place INTEGER PRIMARY KEY, code TEXT UNIQUE, body TEXT)',
  'CREATE TABLE parent (child TEXT, code TEXT, PRIMARY KEY (child, code)) WITHOUT ROWID',
]
/** What no database stores, as JSON.stringify writes it: U+0000, and a half of a surrogate pair without the other one. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/
const NO_CHARACTER = 'the character U+0000, or half of a character'
const MAX_DEPTH = 200 // of nested concepts

export const isCodeSystemFile = ({ name }: ReleaseFile): boolean => /\.json$/i.test(name)

interface Row {
  readonly code: string
  readonly body: string
}

/** Puts concepts into the staging database, each without those nested in it. Throws a sentence about the file. */
const createPut = (staging: Staging) => {
  const insert = staging.prepare('INSERT OR IGNORE INTO concept VALUES (?, ?, ?)')
  const link = staging.prepare('INSERT OR IGNORE INTO parent VALUES (?, ?)')
  let size = 0
  const put = (value: unknown, parent: string | undefined, depth: number): void => {
    const { concept: nested, ...own } = value as Json
    const { code } = own
    if (typeof code !== 'string' || code === '') throw new Error(`the concept behind ${size} others has no code`)
    if (depth > MAX_DEPTH) throw new Error(`concepts are nested more than ${MAX_DEPTH} times`)
    const body = JSON.stringify(own)
    if (UNSTORABLE.test(body)) throw new Error(`the concept behind ${size} others has ${NO_CHARACTER}`)
    if (insert.run(size, code, body).changes === 0) throw new Error(`the code "${code.slice(0, 100)}" is there twice`)
    size += 1
    if (parent !== undefined) link.run(code, parent)
    if (Array.isArray(nested)) for (const one of nested) put(one, code, depth + 1)
  }
  return { put: (value: unknown) => put(value, undefined, 1), link: link.run.bind(link), count: () => size }
}

/** Members of the resource except for its concepts. */
const readInto = async (
  file: ReleaseFile,
  staged: ReturnType<typeof createPut>,
  staging: Staging,
  progress: (bytes: number, rows: number) => void,
): Promise<{ readonly members: Json; readonly hash: string }> => {
  const members: Record<string, unknown> = {}
  const hash = createHash('sha256')
  const parser = new JSONParser({ paths: ['$.*', '$.concept.*'], keepStack: false })
  parser.onValue = ({ value, key, stack }) => {
    if (typeof key === 'number') staged.put(value)
    else if (stack.length <= 1 && key !== 'concept') members[key as string] = value
  }
  parser.onError = (error) => {
    throw error
  }
  for await (const chunk of readUtf8(file)) {
    const before = staged.count()
    hash.update(chunk)
    staging.together(() => parser.write(chunk))
    progress(chunk.length, staged.count() - before)
  }
  if (!parser.isEnded) throw new Error('it ends in the middle of the resource')
  return { members, hash: hash.digest('hex') }
}

const checkHeader = (members: Json, { content }: CodeSystem): void => {
  const { resourceType, url } = members
  if (resourceType !== 'CodeSystem') throw new Error('it is no CodeSystem')
  if (UNSTORABLE.test(JSON.stringify(members))) throw new Error(`it has ${NO_CHARACTER}`)
  if (typeof url !== 'string' || url === '') throw new Error('it has no url')
  if (content !== 'complete' && content !== 'fragment')
    throw new Error(`its content is "${content}", and can be complete or fragment`)
}

/** The concepts from a place on, with the types that the header gives their properties. */
const createConcepts = (staging: Staging, members: Json) => {
  const some = staging.prepare('SELECT code, body FROM concept WHERE place >= ? AND place < ? ORDER BY place')
  const parents = staging.prepare('SELECT code FROM parent WHERE child = ?')
  const upwards = linksOf(members).flatMap(([code, isParent]) => (isParent ? [code] : []))
  return (place: number): readonly LoadedConcept[] => {
    const rows = some.all(place, place + BATCH) as readonly Row[]
    const { concepts } = readCodeSystem({ ...members, concept: rows.map(({ body }) => JSON.parse(body) as Json) })
    return Array.from(concepts.values(), (one) => {
      const linked = parents.all(one.code) as readonly { readonly code: string }[]
      const named = upwards.flatMap((code) => one.properties.get(code) ?? [])
      return { ...toLoaded(one), parents: [...new Set([...linked.map(({ code }) => code), ...named])] }
    })
  }
}

/** Where a property names children, the links are known only when all concepts are read. */
const linkChildren = (staging: Staging, members: Json, link: (child: string, parent: string) => unknown): void => {
  const downwards = linksOf(members).flatMap(([code, isParent]) => (isParent ? [] : [code]))
  if (downwards.length === 0) return
  const some = staging.prepare('SELECT code, body FROM concept WHERE place >= ? AND place < ?')
  for (let at = 0, rows: readonly Row[] = []; at === 0 || rows.length > 0; at += BATCH) {
    rows = some.all(at, at + BATCH) as readonly Row[]
    const { concepts } = readCodeSystem({ ...members, concept: rows.map(({ body }) => JSON.parse(body) as Json) })
    for (const { code, properties } of concepts.values())
      for (const name of downwards) for (const child of properties.get(name) ?? []) link(child, code)
  }
}

/** Throws `ReleaseFile` and `ReleaseLine` of `errors.ts`. */
export const readCodeSystemFile = async (file: ReleaseFile, options: ReadOptions): Promise<Release> => {
  const staging = await openStaging(TABLES)
  try {
    const staged = createPut(staging)
    const progress = (bytes: number, rows: number): void => options.progress({ file: file.name, bytes, rows })
    const { members: read, hash } = await readInto(file, staged, staging, progress)
    const members = options.version === undefined ? read : { ...read, version: options.version }
    const system = readCodeSystem(members)
    checkHeader(members, system)
    linkChildren(staging, members, staged.link)
    const { concepts: _concepts, find: _find, ...header } = system
    const [size, concepts] = [staged.count(), createConcepts(staging, members)]
    return {
      ...{ header, name: header.url, edition: hash, size, notes: [], close: staging.close },
      async *concepts(from) {
        for (let at = from * BATCH; at < size; at += BATCH) yield concepts(at)
      },
    }
  } catch (error) {
    staging.close()
    if (isServerError(error)) throw error
    throw ReleaseFileError(file.label, (error as Error).message.replace(/\.$/, ''))
  }
}
