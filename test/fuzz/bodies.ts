/** Bodies of writes: a resource, a batch or transaction, a patch of each form, the Parameters of an operation. */
import { mutateBytes, mutateStructure, NASTY } from './mutations.ts'
import type { SeededRandom } from './random.ts'
import type { Corpus, Example } from './requests.ts'

type Json = Record<string, any>

/** The example, changed in its structure or in its bytes, now and then as it is. */
export const resourceBody = (random: SeededRandom, example: Example): Buffer => {
  const kind = random.int(10)
  if (kind < 4) {
    const changed = JSON.stringify(mutateStructure(random, JSON.parse(example.text)))
    return Buffer.from(changed ?? '')
  }
  return kind < 9 ? mutateBytes(random, Buffer.from(example.text)) : Buffer.from(example.text)
}

/** A body that is sound or changed in one way. */
const broken = (random: SeededRandom, body: unknown): Buffer => {
  const kind = random.int(10)
  if (kind < 4) return Buffer.from(JSON.stringify(body))
  if (kind < 8) return Buffer.from(JSON.stringify(mutateStructure(random, body)) ?? '')
  return mutateBytes(random, Buffer.from(JSON.stringify(body)))
}

const uuid = (random: SeededRandom): string => {
  const hex = random.bytes(16).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

const CONDITIONS: Readonly<Record<string, readonly string[]>> = {
  ifNoneExist: ['identifier=x', '_id=a', '', 'name=%00', '?identifier=a|b'],
  ifMatch: ['W/"1"', 'W/"9"', '*', 'x'],
  ifNoneMatch: ['*', 'W/"1"', ''],
  ifModifiedSince: ['2020-01-01T00:00:00Z', 'x'],
}

/** Puts `to` where the resource has references, so that entries lead to each other or to conditions. */
const relink = (random: SeededRandom, value: unknown, to: readonly string[]): void => {
  if (typeof value !== 'object' || value === null) return
  const holder = value as Json
  if (typeof holder.reference === 'string' && random.chance(0.7)) holder.reference = random.pick(to)
  for (const inner of Object.values(holder)) relink(random, inner, to)
}

export const bundleBody = (random: SeededRandom, corpus: Corpus): Buffer => {
  const examples = Array.from({ length: 1 + random.int(5) }, () => random.pick(corpus.examples))
  const urls = examples.map(() => `urn:uuid:${uuid(random)}`)
  const links = [...urls, ...examples.map(({ type, id }) => `${type}/${id}`), 'Patient?identifier=x', '#a', ...NASTY]
  const entry = examples.map(({ type, id, text }, at): Json => {
    const method = random.pick(['POST', 'POST', 'POST', 'PUT', 'PUT', 'DELETE', 'GET', 'PATCH', 'HEAD'])
    const url = method === 'POST' ? type : random.pick([`${type}/${id}`, `${type}/${id}`, `${type}?_id=${id}`, type])
    const request: Json = { method, url }
    if (random.chance(0.2)) {
      const name = random.pick(Object.keys(CONDITIONS))
      request[name] = random.pick(CONDITIONS[name] as string[])
    }
    if (method === 'DELETE' || method === 'GET' || method === 'HEAD') return { request }
    const resource = JSON.parse(text) as Json
    relink(random, resource, links)
    return { ...(random.chance(0.8) ? { fullUrl: urls[at] } : {}), resource, request }
  })
  return broken(random, {
    resourceType: 'Bundle',
    type: random.pick(['transaction', 'transaction', 'batch', 'collection']),
    entry,
  })
}

const pointers = (value: unknown, at: string, found: string[]): string[] => {
  found.push(at)
  if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value))
      pointers(inner, `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, found)
  return found
}

const valueAt = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<any>((at, key) => at?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], value)

export const PATCH_TYPES = ['application/json-patch+json', 'application/merge-patch+json', 'application/fhir+json']

/** A patch in the form of the media type, of members that the example has or nearly has. */
export const patchBody = (random: SeededRandom, { type, text }: Example, mediaType: string): Buffer => {
  const resource = JSON.parse(text) as Json
  const paths = [...pointers(resource, '', []), '/__proto__/x', '/meta/versionId', '/name/-', '/a~2', 'x']
  const value = (): unknown => random.pick([null, 1, 'x', {}, [], { a: 1 }, resource, ...NASTY])
  // One that can be applied, as long as nobody has changed the resource.
  const isSound = random.chance(0.3)
  if (mediaType === PATCH_TYPES[0] && isSound) {
    const path = random.pick(pointers(resource, '', []))
    return broken(random, [
      { op: 'test', path, value: valueAt(resource, path) },
      { op: 'add', path: '/language', value: 'en' },
    ])
  }
  if (mediaType === PATCH_TYPES[1] && isSound) return broken(random, { language: 'de', text: null })
  if (isSound) {
    const part = [
      { name: 'type', valueCode: 'delete' },
      { name: 'path', valueString: `${type}.text` },
    ]
    return broken(random, { resourceType: 'Parameters', parameter: [{ name: 'operation', part }] })
  }
  if (mediaType === PATCH_TYPES[0])
    return broken(
      random,
      Array.from({ length: 1 + random.int(5) }, () => ({
        op: random.pick(['add', 'remove', 'replace', 'move', 'copy', 'test', 'x']),
        path: random.pick(paths),
        from: random.pick(paths),
        value: value(),
      })),
    )
  if (mediaType === PATCH_TYPES[1]) {
    const members = Array.from({ length: 1 + random.int(3) }, () => [random.pick(Object.keys(resource)), value()])
    return broken(random, Object.fromEntries(members))
  }
  const toPath = (pointer: string): string => type + pointer.replaceAll(/\/(\d+)/g, '[$1]').replaceAll('/', '.')
  const parameter = Array.from({ length: 1 + random.int(3) }, () => ({
    name: 'operation',
    part: [
      { name: 'type', valueCode: random.pick(['add', 'insert', 'delete', 'replace', 'move', 'x']) },
      { name: 'path', valueString: random.pick([toPath(random.pick(paths)), `${type}.where(true)`, 'a.b(', '$this']) },
      { name: 'name', valueString: random.pick([...Object.keys(resource), '__proto__']) },
      { name: 'index', valueInteger: random.int(4) - 1 },
      { name: 'value', [random.pick(['valueString', 'valueCode', 'valueBoolean', 'valueQuantity'])]: value() },
    ].filter(() => random.chance(0.9)),
  }))
  return broken(random, { resourceType: 'Parameters', parameter })
}

export const OPERATIONS = ['$validate', '$meta', '$meta-add', '$meta-delete', '$everything', '$x']

export const operationBody = (random: SeededRandom, example: Example): Buffer => {
  const resource = JSON.parse(example.text) as Json
  return broken(
    random,
    random.pick<unknown>([
      resource,
      {
        resourceType: 'Parameters',
        parameter: [
          { name: 'resource', resource },
          { name: 'mode', valueCode: random.pick(['create', 'update', 'delete', 'profile', 'x']) },
          { name: 'profile', valueUri: random.pick(['http://hl7.org/fhir/StructureDefinition/bp', 'x', '']) },
        ].filter(() => random.chance(0.8)),
      },
      {
        resourceType: 'Parameters',
        parameter: [{ name: 'meta', valueMeta: resource.meta ?? { tag: [{ system: 'http://a.b', code: 'x' }] } }],
      },
    ]),
  )
}
