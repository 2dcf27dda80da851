/**
 * What elements a type has, which of them repeat and which have a choice of types: from the StructureDefinitions, read
 * when a FHIRPath Patch first asks for a type.
 */
import type { Definitions } from '../../packages/service.ts'

export interface ElementShape {
  readonly repeats: boolean
  /** Value types of an element `[x]`; undefined for one of a single type. */
  readonly choice: readonly string[] | undefined
  /** Where the elements in it are described. */
  readonly inside: Place | undefined
}

/** A type, or elements defined in place: `contact` of Patient. */
export interface Place {
  readonly type: string
  readonly path: string
}

/** A type that was not read yet: to be loaded, then all is done again. */
export class NotLoaded extends Error {
  readonly type: string
  constructor(type: string) {
    super(type)
    this.type = type
  }
}

export interface Elements {
  load(type: string): Promise<void>
  /** Undefined when there is no such element. Throws NotLoaded. */
  find(place: Place, name: string): ElementShape | undefined
}

interface Element {
  readonly path: string
  readonly max?: string
  readonly base?: { readonly max: string }
  readonly contentReference?: string
  readonly type?: readonly { readonly code: string }[]
}

const BASE = 'http://hl7.org/fhir/StructureDefinition/'
const INLINE = new Set(['BackboneElement', 'Element'])

/** By path below the type: `contact.name`. */
type Shapes = ReadonlyMap<string, ElementShape>

const toShapes = (type: string, elements: readonly Element[]): Shapes => {
  const shapes = new Map<string, ElementShape>()
  for (const { path, max = '1', base, contentReference, type: types = [] } of elements) {
    const name = path.slice(type.length + 1)
    if (name === '') continue
    const [only] = types
    const isChoice = name.endsWith('[x]')
    const inside =
      contentReference !== undefined
        ? { type, path: contentReference.slice(contentReference.indexOf('.') + 1) }
        : only === undefined || isChoice
          ? undefined
          : INLINE.has(only.code)
            ? { type, path: name }
            : { type: only.code, path: '' }
    shapes.set(name.replace(/\[x\]$/, ''), {
      repeats: (base?.max ?? max) !== '1' && (base?.max ?? max) !== '0',
      choice: isChoice ? types.map(({ code }) => code) : undefined,
      inside,
    })
  }
  return shapes
}

export const createElements = (definitions: Pick<Definitions, 'find' | 'fingerprint'>): Elements => {
  let fingerprint = ''
  let known = new Map<string, Shapes>()
  return {
    async load(type) {
      if (fingerprint !== definitions.fingerprint) known = new Map()
      fingerprint = definitions.fingerprint
      const found = await definitions.find('StructureDefinition', `${BASE}${type}`)
      const elements =
        found === undefined
          ? []
          : ((JSON.parse(found.json) as { snapshot?: { element: readonly Element[] } }).snapshot?.element ?? [])
      known.set(type, toShapes(type, elements))
    },
    find({ type, path }, name) {
      const shapes = fingerprint === definitions.fingerprint ? known.get(type) : undefined
      if (shapes === undefined) throw new NotLoaded(type)
      return shapes.get(path === '' ? name : `${path}.${name}`)
    },
  }
}
