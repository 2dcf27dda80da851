/** Bodies that are more than one resource: patches, Parameters of operations, batches and transactions. */
import type { SeededRandom } from './random.ts'
import type { Example } from './requests.ts'

type Json = Record<string, any>

export const PATCH_TYPES = ['application/json-patch+json', 'application/merge-patch+json', 'application/fhir+json']
export const OPERATIONS = ['$meta', '$meta-add', '$meta-delete', '$everything', '$validate', '$x']

/** A pointer or a path into an example: most lead somewhere. */
const placeIn = (random: SeededRandom, example: Example): { readonly pointer: string; readonly path: string } => {
  let value: unknown = JSON.parse(example.text)
  let pointer = ''
  let path = example.type
  while (typeof value === 'object' && value !== null && random.chance(0.8)) {
    const keys = Object.keys(value)
    if (keys.length === 0) break
    const key = random.chance(0.05) ? random.pick(['-', 'x', '__proto__', '99', '~0~1']) : random.pick(keys)
    pointer += `/${key}`
    path += Array.isArray(value) ? `[${key}]` : `.${key.replace(/(Quantity|String|DateTime|CodeableConcept)$/, '')}`
    value = (value as Json)[key]
  }
  if (random.chance(0.1)) path += random.pick(['.first()', ".where(system = 'x')", '[0]', '.where(', '.exists()', "'"])
  return { pointer, path }
}

const valueFrom = (random: SeededRandom, other: Example): unknown =>
  random.pick<unknown>([1, 1.5, true, null, 'x', '', {}, [], [{}], { system: 'x' }, JSON.parse(other.text)])

const jsonPatch = (random: SeededRandom, example: Example, other: Example): unknown =>
  Array.from({ length: 1 + random.int(4) }, () => ({
    op: random.pick(['add', 'remove', 'replace', 'move', 'copy', 'test', 'x']),
    path: placeIn(random, example).pointer,
    from: placeIn(random, example).pointer,
    value: valueFrom(random, other),
  }))

const pathPatch = (random: SeededRandom, example: Example, other: Example): unknown => ({
  resourceType: 'Parameters',
  parameter: Array.from({ length: 1 + random.int(3) }, () => ({
    name: random.chance(0.95) ? 'operation' : 'x',
    part: [
      { name: 'type', valueCode: random.pick(['add', 'insert', 'delete', 'replace', 'move', 'x']) },
      { name: 'path', valueString: placeIn(random, example).path },
      { name: 'name', valueString: random.pick(['name', 'identifier', 'value', 'extension', 'id', 'x']) },
      { name: 'index', valueInteger: random.int(4) - 1 },
      { name: 'source', valueInteger: random.int(3) },
      { name: 'destination', valueInteger: random.int(3) },
      random.pick<Json>([
        { name: 'value', valueString: 'x' },
        { name: 'value', valueHumanName: { family: 'x' } },
        { name: 'value', valueCodeableConcept: valueFrom(random, other) },
        { name: 'value', part: [{ name: 'system', valueUri: 'x' }] },
        { name: 'value', resource: valueFrom(random, other) },
        { name: 'value' },
      ]),
    ].filter(() => random.chance(0.9)),
  })),
})

export const patchOf = (random: SeededRandom, example: Example, other: Example, type: string): string =>
  JSON.stringify(
    type === PATCH_TYPES[0]
      ? jsonPatch(random, example, other)
      : type === PATCH_TYPES[1]
        ? { [random.pick(['id', 'meta', 'name', 'text', 'x'])]: valueFrom(random, other) }
        : pathPatch(random, example, other),
  )

export const parametersOf = (random: SeededRandom, example: Example, other: Example): string =>
  JSON.stringify({
    resourceType: 'Parameters',
    parameter: Array.from({ length: 1 + random.int(3) }, () =>
      random.pick<Json>([
        { name: 'resource', resource: JSON.parse(example.text) },
        { name: 'mode', valueCode: random.pick(['create', 'update', 'delete', 'profile', 'x']) },
        {
          name: 'profile',
          valueUri: random.pick(['http://hl7.org/fhir/StructureDefinition/Patient', 'x', 'http://x|1']),
        },
        { name: 'meta', valueMeta: valueFrom(random, other) },
        { name: 'meta', valueMeta: { tag: [valueFrom(random, other)], profile: ['x'] } },
        { name: '_count', valueInteger: random.int(5) - 1 },
        { name: 'x', valueString: 'x' },
      ]),
    ),
  })

/** Entries that may meet one another. */
export const bundleOf = (random: SeededRandom, pick: () => Example): string => {
  const entry = Array.from({ length: random.int(6) }, () => {
    const example = pick()
    const { type, id } = example
    const method = random.pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'x'])
    const instance = `${type}/${id}`
    const url =
      method === 'POST'
        ? random.pick([type, `${instance}/${random.pick(OPERATIONS)}`, `${type}/$validate`])
        : random.pick([instance, instance, `${type}?_id=${id}`, `${type}/_history`, type, '$meta', '..', 'http://x/y'])
    const patchType = random.pick(PATCH_TYPES)
    const patch = patchOf(random, example, pick(), patchType)
    const resource =
      method === 'PATCH'
        ? patchType === PATCH_TYPES[2]
          ? JSON.parse(patch)
          : { resourceType: 'Binary', contentType: patchType, data: Buffer.from(patch).toString('base64') }
        : JSON.parse(example.text)
    return {
      ...(random.chance(0.5) ? { fullUrl: random.pick(['urn:uuid:x', `http://x/${instance}`, `urn:uuid:${id}`]) } : {}),
      ...(method === 'GET' || method === 'DELETE' ? {} : { resource }),
      request: {
        method,
        url,
        ...(random.chance(0.1) ? { ifMatch: random.pick(['W/"1"', 'x', '*']) } : {}),
        ...(random.chance(0.1) ? { ifNoneExist: random.pick([`_id=${id}`, '', 'x=y', '_count=1']) } : {}),
      },
    }
  })
  return JSON.stringify({
    resourceType: 'Bundle',
    type: random.pick(['batch', 'transaction', 'transaction', 'x']),
    entry,
  })
}
