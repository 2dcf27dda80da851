/**
 * What elements a type has, which of them repeat and which have a choice of types: from the StructureDefinitions, read
 * when a FHIRPath Patch first asks for a type.
 */
import type { Definitions } from '../../packages/service.ts'
import { contentPath, type ElementNode, elementsBelow, isInPlace, isList, readSnapshot } from './read-snapshot.ts'
import { type ElementDefinition, type StructureDefinition, typeUrl } from './structure-definition.ts'

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

/** By path below the type: `contact.name`. */
type Shapes = ReadonlyMap<string, ElementShape>

const placeInside = (element: ElementDefinition, type: string, name: string): Place | undefined => {
  const content = contentPath(element)
  if (content !== undefined) return { type, path: content.slice(content.indexOf('.') + 1) }
  const [only] = element.type ?? []
  if (only === undefined) return undefined
  return isInPlace(only.code) ? { type, path: name } : { type: only.code, path: '' }
}

const toShapes = (type: string, root: ElementNode): Shapes => {
  const shapes = new Map<string, ElementShape>()
  for (const { path, isChoice, definitions } of elementsBelow(root)) {
    const [element] = definitions as [ElementDefinition]
    const name = path.slice(type.length + 1)
    if (name === '') continue
    shapes.set(name.replace(/\[x\]$/, ''), {
      repeats: isList(element),
      choice: isChoice ? (element.type ?? []).map(({ code }) => code) : undefined,
      inside: isChoice ? undefined : placeInside(element, type, name),
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
      const found = await definitions.find('StructureDefinition', typeUrl(type))
      const definition = found && (JSON.parse(found.json) as StructureDefinition)
      known.set(type, toShapes(type, readSnapshot(type, definition?.snapshot?.element ?? [])))
    },
    find({ type, path }, name) {
      const shapes = fingerprint === definitions.fingerprint ? known.get(type) : undefined
      if (shapes === undefined) throw new NotLoaded(type)
      return shapes.get(path === '' ? name : `${path}.${name}`)
    },
  }
}
